"""The page in a real browser, where there is one: hover, dark mode, widths, hostile names."""

from __future__ import annotations

import re
import shutil

import pytest

from bestleaf.report import save_report
from paths import certificate

webdriver = pytest.importorskip("selenium.webdriver")
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="there is no chromium with its driver"),
]
FLAGS = (
    "headless no-sandbox disable-gpu disable-quic no-first-run disable-background-networking disable-component-update "
    "disable-sync"
)


HOSTILE = ("<script>document.title='owned'</script>", '"><img src=x onerror=alert(1)>', *(f"c{n}" for n in range(5)))


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    save_report(certificate(3, names=HOSTILE)[0], path, title="Trial")
    return path


@pytest.fixture(scope="module")
def browser(page, tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS.split(), f"user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_window_size(1200, 900)
    driver.get(page.as_uri())
    yield driver
    driver.quit()


def test_nothing_is_logged_or_loaded_names_stay_text_and_every_width_fits(browser):
    assert browser.title == "Trial"
    assert browser.execute_script("return document.images.length + document.scripts.length") == 0
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.get_log("browser") == []
    for width in (360, 800, 1600):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 800}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_column_below_the_pointer_tells_the_features(browser):
    column = browser.find_elements("class name", "column")[2]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", column)
    webdriver.ActionChains(browser).move_to_element(column).perform()
    assert browser.execute_script("return arguments[0].matches(':hover')", column)
    told = browser.execute_script("return arguments[0].querySelector('title').textContent", column)
    assert re.match(r"3 features \(.*, chosen\): training 0\.", told)
    assert HOSTILE[0] in told


def test_the_path_has_colours_of_light_dark_and_print(browser):
    stroke = "return getComputedStyle(document.querySelector('polyline.line')).stroke"
    colours = []
    for media, scheme in (("", "light"), ("", "dark"), ("print", "dark")):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
        colours.append(browser.execute_script(stroke))
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    assert colours[0] == colours[2] != colours[1]
