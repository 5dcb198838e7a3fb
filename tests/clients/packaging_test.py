#!/usr/bin/env python3
"""What packaging/ says is true of the server: packaging_test.py TRINE."""
import json
import os
import re
import signal
import sys
import tempfile
import unittest
import urllib.request

from server import ROOT, Server


class Packaging(unittest.TestCase):
    def read(self, name):
        with open(os.path.join(ROOT, "packaging", name)) as file:
            return file.read()

    def test_every_metric_of_the_dashboard_exists(self):
        dashboard = self.read("grafana.json")
        json.loads(dashboard)
        with Server(TRINE, "--context", "512", "--concurrency", "2") as server:
            figures = urllib.request.urlopen(server.url + "/metrics").read().decode()
        known = set(re.findall(r"^# TYPE (trine_[a-z_]+)", figures, re.M))
        for name in set(re.findall(r"\btrine_[a-z_]+", dashboard)):
            self.assertIn(re.sub(r"_bucket$", "", name), known)

    def test_the_example_of_a_config_file_starts_a_server_that_drains(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trine.conf")
            with open(path, "w") as file:
                file.write(self.read("trine.conf").replace("/var/lib/trine", folder))
            with Server(TRINE, "--config", path) as server:
                self.assertIn("16 requests at once, 16384 tokens each", "\n".join(server.lines))
                self.assertEqual(server.stop(signal.SIGTERM), 0)

    def test_the_unit_names_options_that_exist(self):
        unit = self.read("trine.service")
        self.assertIn("serve --config", unit)
        self.assertIn("TRINE_SERVE_MODEL", unit)


if __name__ == "__main__":
    TRINE = sys.argv.pop(1)
    unittest.main(verbosity=2)
