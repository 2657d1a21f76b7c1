#!/usr/bin/env python3
"""The picture of a report in the README: the page down to its first charts, cases filtered, by headless Chromium.

usage: PYTHONPATH=.deps/test-site report_picture.py REPORT.html PICTURE.png FILTER

That in docs, filtered by zb, is of ten cases of resnet18/imagenet-synthetic[pixels=32,classes=10] with batch:32, five
launches of ten steps each, on a 2-core virtual machine on which builds were running at a lower priority.
"""

import base64
import pathlib
import shutil
import sys

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

WIDTH = 1340


def main(page, picture, words):
    options = Options()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    try:
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                               {"width": WIDTH, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                               {"features": [{"name": "prefers-color-scheme", "value": "light"}]})
        driver.get(pathlib.Path(page).resolve().as_uri())
        driver.find_element(By.CSS_SELECTOR, "#filter").send_keys(words)
        height = driver.execute_script("""return [...document.querySelectorAll('h2')].find(h => h.textContent == 'Errors')
            .getBoundingClientRect().top + scrollY - 40""")
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1}
        image = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        pathlib.Path(picture).write_bytes(base64.b64decode(image["data"]))
    finally:
        driver.quit()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
