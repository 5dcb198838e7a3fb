#!/usr/bin/env python3
"""The web page in a real Chromium: page_test.py TRINE. Needs chromium, chromium-driver, python3-selenium."""
import sys
import unittest

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from server import Server


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(TRINE, "--context", "16384", "--concurrency", "2")
        options = webdriver.ChromeOptions()
        for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1200,900"):
            options.add_argument(flag)
        options.binary_location = "/usr/bin/chromium"
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.page = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)

    @classmethod
    def tearDownClass(cls):
        cls.page.quit()
        cls.server.__exit__()

    def setUp(self):
        self.page.set_window_size(1200, 900)
        self.page.get(self.server.url + "/")
        self.wait(lambda: "nano" in self.find("#model").text)

    def find(self, selector):
        return self.page.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.page.find_elements(By.CSS_SELECTOR, selector)

    def wait(self, condition, seconds=60):
        return WebDriverWait(self.page, seconds, 0.05).until(
            lambda _: condition(), "the page shows: " + self.page.find_element(By.TAG_NAME, "body").text[:2000])

    def set(self, selector, value):
        self.page.execute_script(
            "const e = document.querySelector(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event('change'))",
            selector, value)

    def ask(self, text):
        self.find("#input").send_keys(text + Keys.ENTER)

    def answered(self):
        return self.all(".turn.assistant") and not self.all(".turn.busy")

    def test_a_question_is_answered_with_its_reasoning_folded(self):
        self.set("#temperature", "0")
        self.ask("What is the capital of Vietnam?")
        self.wait(self.answered)
        self.assertIn("Hanoi", self.find(".turn.assistant > .text").text)
        fold = self.find(".turn.assistant details")
        self.assertIsNone(fold.get_attribute("open"))
        self.assertIn("tokens", self.find(".turn.assistant .note").text)
        self.find("#retry").click()
        self.wait(self.answered)
        self.assertEqual(len(self.all(".turn.assistant")), 1)
        self.assertIn("Hanoi", self.find(".turn.assistant > .text").text)

    def test_an_answer_can_be_stopped(self):
        # An answer that is surely longer than this test: thousands of tokens, whatever the model says.
        self.page.execute_script("""
            const send = window.fetch;
            window.fetch = (url, options) => {
                if (options && options.body)
                    options.body = JSON.stringify({...JSON.parse(options.body), ignore_eos: true, max_tokens: 15000});
                return send(url, options);
            };""")
        self.ask("Tell me everything")
        self.wait(lambda: self.find("#stop").is_displayed())
        self.page.find_element(By.TAG_NAME, "body").send_keys(Keys.ESCAPE)
        self.wait(self.answered)
        self.assertTrue(self.find("#send").is_displayed())

    def test_figures_and_the_plot_are_drawn(self):
        self.wait(lambda: "tokens/s" in self.find("#figures").text)
        self.assertIn("latent pages", self.find("#legend").text)
        self.assertGreater(self.page.execute_script("return document.getElementById('plot').width"), 50)

    def test_dark_and_light(self):
        colour = lambda: self.page.execute_script("return getComputedStyle(document.body).backgroundColor")
        before = colour()
        self.find("#theme").click()
        self.assertNotEqual(colour(), before)
        self.find("#theme").click()
        self.assertEqual(colour(), before)

    def test_a_narrow_screen_keeps_everything_in_reach(self):
        self.page.set_window_size(500, 800)
        self.wait(lambda: self.find("#side").is_displayed())
        self.assertFalse(self.find("#panel").is_displayed())
        self.find("#side").click()
        self.assertTrue(self.find("#panel").is_displayed())
        self.find("#side").click()
        wide = self.page.execute_script("return document.documentElement.scrollWidth > document.documentElement.clientWidth")
        self.assertFalse(wide)

    def test_nothing_comes_from_elsewhere_and_nothing_fails(self):
        names = self.page.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
        self.assertTrue(all(name.startswith(self.server.url) or name.startswith("data:") for name in names), names)
        errors = [entry for entry in self.page.get_log("browser") if entry["level"] == "SEVERE"]
        self.assertEqual(errors, [])


if __name__ == "__main__":
    TRINE = sys.argv.pop(1)
    unittest.main(verbosity=2)
