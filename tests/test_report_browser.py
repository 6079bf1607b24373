"""The page in a real browser, where there is one: hover, dark mode, widths, hostile names."""

from __future__ import annotations

import shutil

import numpy as np
import pandas as pd
import pytest

from bestleaf.report import save_report
from paths import certificate
from selecting import made_selector

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


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    rng = np.random.default_rng(0)
    names = ["<script>document.title='owned'</script>", '"><img src=x onerror=alert(1)>', *(f"c{n}" for n in range(12))]
    X = pd.DataFrame(rng.normal(size=(150, len(names))), columns=names)
    y = (X.iloc[:, 0] + X.iloc[:, 3] > 0).astype(int)
    path = tmp_path_factory.mktemp("page") / "page.html"
    save_report(
        made_selector(choose="training", random_state=0, guarantee="grown").fit(X, y).certificate_, path, title="Trial"
    )
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


def fits(browser, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 800}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    found = browser.execute_script("return document.documentElement.scrollWidth")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    return found <= width


def test_nothing_is_logged_or_loaded_names_stay_text_and_every_width_fits(browser):
    assert browser.title == "Trial"
    assert browser.execute_script("return document.images.length + document.scripts.length") == 0
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.get_log("browser") == []
    assert all(fits(browser, width) for width in (360, 800, 1600))


@pytest.fixture(scope="module")
def path_page(browser, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "path.html"
    save_report(certificate(size=3)[0], path)
    browser.get(path.as_uri())
    return browser


def test_the_column_below_the_pointer_tells_the_features(path_page):
    column = path_page.find_elements("class name", "column")[2]
    path_page.execute_script("arguments[0].scrollIntoView({block: 'center'})", column)
    webdriver.ActionChains(path_page).move_to_element(column).perform()
    assert path_page.execute_script("return arguments[0].matches(':hover')", column)
    assert path_page.execute_script("return arguments[0].querySelector('title').textContent", column).startswith(
        "3 features (search, chosen): training 0."
    )
    assert path_page.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert path_page.get_log("browser") == []


def test_the_path_has_colours_of_light_dark_and_print(path_page):
    stroke = "return getComputedStyle(document.querySelector('polyline.line')).stroke"
    colours = []
    for media, scheme in (("", "light"), ("", "dark"), ("print", "dark")):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        path_page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
        colours.append(path_page.execute_script(stroke))
    path_page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    assert colours[0] == colours[2] != colours[1]


def test_the_path_fits_on_a_phone(path_page):
    assert fits(path_page, 360)
