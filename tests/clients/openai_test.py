#!/usr/bin/env python3
"""The official openai client against a running server: openai_test.py TRINE. Needs the package `openai`."""
import json
import sys
import unittest

import openai

from server import Server

TOOLS = [{
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"enum": ["c", "f"]}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}]
SCHEMA = {
    "type": "object",
    "properties": {"capital": {"type": "string", "maxLength": 20}, "people": {"type": "integer", "minimum": 0, "maximum": 99}},
    "required": ["capital", "people"],
    "additionalProperties": False,
}
QUESTION = [{"role": "user", "content": "What is the capital of Vietnam?"}]


class OpenAi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(TRINE, "--context", "2048", "--concurrency", "4")
        cls.client = openai.OpenAI(base_url=cls.server.url + "/v1", api_key="none", max_retries=0)
        cls.model = cls.client.models.list().data[0].id

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def chat(self, **more):
        return self.client.chat.completions.create(**{"model": self.model, "messages": QUESTION, "temperature": 0,
                                                      "max_tokens": 200, **more})

    def test_an_answer_with_its_reasoning_and_usage(self):
        answer = self.chat()
        choice = answer.choices[0]
        self.assertIn(choice.finish_reason, ("stop", "length"))
        self.assertIn("Hanoi", choice.message.content)
        self.assertNotIn("<|", choice.message.content)
        self.assertTrue(choice.message.reasoning_content)
        self.assertEqual(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens)
        self.assertLessEqual(answer.usage.prompt_tokens_details.cached_tokens, answer.usage.prompt_tokens)

    def test_the_stream_put_together_is_the_answer(self):
        whole = self.chat()
        content, reasoning, finishes, usage = "", "", [], None
        for chunk in self.chat(stream=True, stream_options={"include_usage": True}):
            usage = chunk.usage or usage
            for choice in chunk.choices:
                content += choice.delta.content or ""
                reasoning += getattr(choice.delta, "reasoning_content", None) or ""
                finishes += [choice.finish_reason] if choice.finish_reason else []
        self.assertEqual(content, whole.choices[0].message.content)
        self.assertEqual(reasoning, whole.choices[0].message.reasoning_content)
        self.assertEqual(finishes, [whole.choices[0].finish_reason])
        self.assertEqual(usage.completion_tokens, whole.usage.completion_tokens)

    def test_a_required_tool_call_has_arguments_of_the_schema(self):
        answer = self.chat(tools=TOOLS, tool_choice="required", max_tokens=400)
        calls = answer.choices[0].message.tool_calls
        self.assertEqual(answer.choices[0].finish_reason, "tool_calls")
        for call in calls:
            self.assertEqual(call.function.name, "get_weather")
            arguments = json.loads(call.function.arguments)
            self.assertIn("city", arguments)
            self.assertLessEqual(set(arguments), {"city", "unit"})
        self.assertEqual(len({call.id for call in calls}), len(calls))
        # And back: the result of the call, in the next turn.
        messages = QUESTION + [answer.choices[0].message.model_dump(exclude_none=True)] + [
            {"role": "tool", "tool_call_id": call.id, "content": "sunny"} for call in calls]
        self.assertIn(self.chat(messages=messages, tools=TOOLS).choices[0].finish_reason, ("stop", "length", "tool_calls"))

    def test_streamed_calls_are_the_whole_ones(self):
        whole = self.chat(tools=TOOLS, tool_choice="required", max_tokens=400).choices[0].message.tool_calls
        calls = {}
        for chunk in self.chat(tools=TOOLS, tool_choice="required", max_tokens=400, stream=True):
            for delta in chunk.choices[0].delta.tool_calls or [] if chunk.choices else []:
                call = calls.setdefault(delta.index, {"name": "", "arguments": ""})
                call["name"] += delta.function.name or ""
                call["arguments"] += delta.function.arguments or ""
        self.assertEqual([(c["name"], c["arguments"]) for c in calls.values()],
                         [(c.function.name, c.function.arguments) for c in whole])

    def test_structured_output_is_valid(self):
        answer = self.chat(max_tokens=600, response_format={
            "type": "json_schema", "json_schema": {"name": "city", "strict": True, "schema": SCHEMA}})
        value = json.loads(answer.choices[0].message.content)
        self.assertEqual(set(value), {"capital", "people"})
        self.assertIsInstance(value["people"], int)

    def test_log_probabilities_align_with_the_tokens(self):
        answer = self.chat(logprobs=True, top_logprobs=5, max_tokens=30)
        entries = answer.choices[0].logprobs.content
        self.assertEqual(len(entries), answer.usage.completion_tokens)
        for entry in entries:
            self.assertLessEqual(entry.logprob, 0)
            self.assertEqual(len(entry.top_logprobs), 5)
            self.assertEqual(entry.top_logprobs[0].token, entry.token)  # greedy

    def test_seeds_and_n(self):
        two = [self.chat(temperature=1, seed=7, n=2, max_tokens=40) for _ in range(2)]
        texts = [[c.message.reasoning_content for c in answer.choices] for answer in two]
        self.assertEqual(texts[0], texts[1])
        self.assertEqual([c.index for c in two[0].choices], [0, 1])

    def test_completions_echo_and_log_probabilities(self):
        answer = self.client.completions.create(model=self.model, prompt="The capital of Vietnam is", max_tokens=1, echo=True,
                                                logprobs=1, temperature=0)
        logprobs = answer.choices[0].logprobs
        self.assertIsNone(logprobs.token_logprobs[0])
        self.assertEqual("".join(logprobs.tokens), answer.choices[0].text)
        self.assertEqual(len(logprobs.tokens), answer.usage.prompt_tokens + 1)
        none = self.client.completions.create(model=self.model, prompt=[1, 2, 3], max_tokens=0, echo=True, logprobs=0)
        self.assertEqual(len(none.choices[0].logprobs.tokens), 3)

    def test_responses_and_their_stream(self):
        whole = self.client.responses.create(model=self.model, input="What is the capital of Vietnam?", temperature=0,
                                             max_output_tokens=200)
        self.assertIn("Hanoi", whole.output_text)
        with self.client.responses.stream(model=self.model, input="What is the capital of Vietnam?", temperature=0,
                                          max_output_tokens=200) as stream:
            text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
            self.assertEqual(stream.get_final_response().output_text, text)
        self.assertEqual(text, whole.output_text)
        self.assertEqual(self.chat().choices[0].message.content, text)  # the same through every API

    def test_errors_are_the_clients_own(self):
        with self.assertRaises(openai.BadRequestError):
            self.chat(temperature=3)
        with self.assertRaises(openai.NotFoundError):
            self.chat(model="no-such-model")
        with self.assertRaises(openai.BadRequestError):
            self.chat(extra_body={"no_such_field": 1})

    def test_combinations_that_cannot_be_kept_are_refused(self):
        for more in ({"ignore_eos": True, "response_format": {"type": "json_object"}},
                     {"ignore_eos": True, "grammar": 'root ::= "a"'}):
            with self.assertRaises(openai.BadRequestError):
                self.chat(response_format=more.pop("response_format", openai.omit), extra_body=more)
        with self.assertRaises(openai.BadRequestError):
            self.chat(tools=TOOLS, tool_choice="required", extra_body={"grammar": 'root ::= "a"'})

    def test_tools_of_a_system_message_can_be_required(self):
        messages = [{"role": "system", "content": None, "tools": TOOLS}] + QUESTION
        answer = self.chat(messages=messages, tool_choice="required", max_tokens=400)
        self.assertEqual(answer.choices[0].message.tool_calls[0].function.name, "get_weather")

    def test_a_request_timeout_below_a_second_counts(self):
        with Server(TRINE, "--context", "16384", "--concurrency", "1", "--request-timeout", "0.2") as server:
            client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
            answer = client.chat.completions.create(model="k3-nano", messages=QUESTION, max_tokens=15000,
                                                    extra_body={"ignore_eos": True})
            self.assertEqual(answer.choices[0].finish_reason, "length")
            self.assertLess(answer.usage.completion_tokens, 15000)


if __name__ == "__main__":
    TRINE = sys.argv.pop(1)
    unittest.main(verbosity=2)
