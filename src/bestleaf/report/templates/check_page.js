// What the page does with the second reader: it checks its own certificate, and any file that is chosen or dropped.
(() => {
  const place = (name) => document.getElementById(name);
  const own = place("certificate");
  const list = (name, lines) => place(name).replaceChildren(...lines.map((line) => {
    const item = document.createElement("li");
    item.textContent = line;
    return item;
  }));
  const show = (text, what) => {
    const { verdict, claims, taken, reason } = bestleafCheck.check(text);
    const other = text === own?.textContent ? "" : " (the rest of this page is about its own certificate)";
    const words = { holds: "holds", refused: `is refused: ${reason}`, unreadable: `cannot be read: ${reason}` }[verdict];
    place("verdict").textContent = `Checked in your browser: ${what} ${words}${other}.`;
    list("claims", claims);
    list("taken", taken);
    place("as-written").hidden = !taken.length;
  };
  const read = (file) => file && file.text().then((text) => show(text, file.name));
  place("checked").hidden = false;
  place("another").addEventListener("change", (event) => read(event.target.files[0]));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    read(event.dataTransfer.files[0]);
  });
  if (own) show(own.textContent, "this certificate");
})();
