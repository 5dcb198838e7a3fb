#!/usr/bin/env python3
"""Anthropic's client against a running server: anthropic_test.py TRINE. Needs the package `anthropic`."""
import sys
import unittest

import anthropic

from server import Server

QUESTION = [{"role": "user", "content": "What is the capital of Vietnam?"}]
TOOL = {"name": "get_weather", "description": "Weather of a city", "input_schema": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}}


class Anthropic(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(TRINE, "--context", "2048", "--concurrency", "4")
        cls.client = anthropic.Anthropic(base_url=cls.server.url, api_key="none", max_retries=0)
        cls.model = "k3-nano"

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def ask(self, **more):
        return {"model": self.model, "max_tokens": 200, "messages": QUESTION, "extra_body": {"temperature": 0}, **more}

    def test_a_message_and_its_stream(self):
        whole = self.client.messages.create(**self.ask())
        text = "".join(block.text for block in whole.content if block.type == "text")
        self.assertIn("Hanoi", text)
        self.assertIn(whole.stop_reason, ("end_turn", "max_tokens"))
        with self.client.messages.stream(**self.ask()) as stream:
            streamed = "".join(stream.text_stream)
            final = stream.get_final_message()
        self.assertEqual(streamed, text)
        self.assertEqual(final.stop_reason, whole.stop_reason)
        self.assertEqual(final.usage.output_tokens, whole.usage.output_tokens)

    def test_stop_sequences(self):
        answer = self.client.messages.create(**self.ask(stop_sequences=["noi"]))
        text = "".join(block.text for block in answer.content if block.type == "text")
        self.assertNotIn("noi", text)
        if answer.stop_reason == "stop_sequence":
            self.assertEqual(answer.stop_sequence, "noi")

    def test_a_tool_is_used_and_its_result_sent_back(self):
        answer = self.client.messages.create(**self.ask(max_tokens=400, tools=[TOOL], tool_choice={"type": "any"}))
        self.assertEqual(answer.stop_reason, "tool_use")
        uses = [block for block in answer.content if block.type == "tool_use"]
        self.assertIn("city", uses[0].input)
        messages = QUESTION + [{"role": "assistant", "content": answer.content},
                               {"role": "user", "content": [
                                   {"type": "tool_result", "tool_use_id": u.id, "content": "sunny"} for u in uses]}]
        self.client.messages.create(**self.ask(messages=messages, tools=[TOOL]))

    def test_tokens_are_counted_as_they_are_used(self):
        count = self.client.messages.count_tokens(model=self.model, messages=QUESTION)
        answer = self.client.messages.create(**self.ask(max_tokens=1))
        used = answer.usage.input_tokens + (answer.usage.cache_read_input_tokens or 0)
        self.assertEqual(count.input_tokens, used)

    def test_beta_and_errors(self):
        self.client.beta.messages.create(**self.ask(max_tokens=5))
        with self.assertRaises(anthropic.BadRequestError):
            self.client.messages.create(**self.ask(extra_body={"top_p": 2}))
        with self.assertRaises(anthropic.NotFoundError):
            self.client.messages.create(**self.ask(model="nobody"))


if __name__ == "__main__":
    TRINE = sys.argv.pop(1)
    unittest.main(verbosity=2)
