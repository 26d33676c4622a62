"""The mistakes that other tools and setups make with loads of agents, and caches that lose the contexts of agents.

docs/agents.md has the rule against each mistake, in this order. These tests would notice it:

 1. No header for routers, or one for all jobs: CachesOfAgents here, Sessions (agents_test.py), SessionNames
    (session_names_test.cpp).
 2. Lost pauses at joins, and joins that wait for ever or are released twice: VirtualJobs and JobsOverSockets
    (virtual_jobs_test.cpp), Agents (agents_test.py), JobProgress (job_progress_test.cpp).
 3. Recorded times that hold the load back: test_recorded_times_... here, SaysThatAPauseIsVeryLong (custom_jsonl_test.cpp).
 4. Tails that lower the rates: test_a_job_that_lasts_... here, SteadyWindow (window_test.cpp).
 5. Fan-out that nobody sees: test_a_cap_on_requests_... (agents_test.py), LiveJobs (job_results_test.cpp).
 6. Live and recorded answers compared: test_runs_with_live_... here, test_rows_of_a_file_are_turns_... (conversations_test.py).
 7. Messages that are rendered again: PromptGrowth (prompt_growth_test.cpp), SaysThatArgumentsOfToolsAreNotJson
    (custom_jsonl_test.cpp), test_tool_messages_and_recorded_answers_... (agents_test.py).
 8. Missing counts taken for 0: CachedTokensThatTheServerDoesNotReportAreUnknown (job_results_test.cpp).
 9. Idle time in latencies, and caps that change the load: AJobLastsFromItsFirstDueTurn... (job_results_test.cpp),
    test_pauses_are_scaled_and_cut_... (agents_test.py).
10. Another version of the data: of_one_name_and_length_but_other_content_is_another_workload (resolve_test.cpp).
11. Contexts that are too long or shrink: AContextThatIsTooLongEndsItsAgentAndNotTheJob (virtual_jobs_test.cpp),
    AWekaContextMayShrink... (agent_files_test.cpp).
12. Salts that meet again: test_no_two_plays_... here, TheSaltOfAJob... (custom_jsonl_test.cpp).
13. Connections that the server closes in pauses: Exchange.ARequestSwallowedByAClosingConnection... (run_test.cpp).
14. Graphs that were guessed: FlatWekaRowsThatOverlap..., ChatsThatNothingConnects... (agent_files_test.cpp).
"""

import json
import unittest

from harness import Case, paretoken, request_lines, run_json, simulated_server


class Mistakes(Case):
    def ran(self, name, rows, *options):
        path, out = self.directory / f"{name}.jsonl", self.directory / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.succeeds(paretoken("run", "sim:llama3-8b-h100-fp8", "--virtual", "--dataset-path", path, "--num-prompts", "all",
                                *options, "--out", out))
        return run_json(out), request_lines(out)

    def test_recorded_times_of_jobs_do_not_hold_back_a_closed_loop(self):
        rows = [{"job": f"{job}", "conversation": "main", "at_s": 56048.7 * job, "prompt": "go", "output_tokens": 20}
                for job in range(8)]
        _, records = self.ran("recorded", rows, "--concurrency", 4)
        self.assertLess(max(record["started_s"] for record in records), 10)

    def test_a_job_that_lasts_much_longer_than_the_others_does_not_lower_the_rates(self):
        def rows(job, turns, tool_s):
            return [{"job": f"{job}", "conversation": "main", "prompt": "go", "output_tokens": 20, "tool_s": tool_s if turn else 0}
                    for turn in range(turns)]

        others = [row for job in range(39) for row in rows(job, 5, 1)]
        without, _ = self.ran("without", others, "--concurrency", 4)
        result, records = self.ran("with", others + rows(39, 400, 10), "--concurrency", 4)
        self.assertEqual(len(records), 39 * 5 + 400)
        self.assertGreater(result["window"]["run_s"], 80 * without["window"]["run_s"])
        self.assertEqual(result["jobs"]["ok"], 40)
        for rate in ("requests_per_s", "output_tokens_per_s"):
            self.assertAlmostEqual(result["throughput"][rate] / without["throughput"][rate], 1, delta=0.03)
        self.assertAlmostEqual(result["jobs"]["jobs_per_hour"] / without["jobs"]["jobs_per_hour"], 1, delta=0.03)

    def test_runs_with_live_and_with_recorded_answers_are_different_workloads(self):
        rows = [{"job": "j", "conversation": "main", "messages": [{"role": "user", "content": "plan"}], "output_tokens": 20},
                {"job": "j", "conversation": "main", "output_tokens": 20,
                 "messages": [{"role": "assistant", "content": "recorded"}, {"role": "user", "content": "go on"}]}]
        results = [self.ran(replies, rows, "--replies", replies)[0] for replies in ("live", "recorded")]
        fingerprints = {result["workload"]["fingerprint"] for result in results}
        self.assertEqual(len(fingerprints), 2)

    def test_no_two_plays_of_a_job_find_each_other_in_a_cache(self):
        rows = [{"job": f"{job}", "conversation": "main", "input_tokens": 640, "hash_ids": list(range(10)), "block_tokens": 64,
                 "hash_scope": "job", "output_tokens": 2} for job in range(30)]
        path, out = self.directory / "jobs.jsonl", self.directory / "plays"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.succeeds(paretoken("run", "sim:llama3-8b-h100-fp8", "--virtual", "--dataset-path", path, "--num-prompts", 300,
                                "--concurrency", 4, "--out", out))
        records = request_lines(out)
        self.assertEqual(len(records), 300)
        self.assertLess(max(record["cached_prompt_tokens"] for record in records), 64, "not a block of the others")


class CachesOfAgents(Case):
    """What a KV cache keeps of the contexts of agents between their turns."""

    PREFIX, FIRST, NEXT, ANSWER, TURNS, BLOCK = 64, 800, 400, 4, 5, 16
    DATASET = f"agents:jobs=60,turns={TURNS},fanout=0,prefix={PREFIX},first={FIRST},next={NEXT},tool=20ms"

    def prompt(self, turn):
        """Returns the tokens of the prompt of a turn."""
        return self.PREFIX + self.FIRST + turn * (self.ANSWER + self.NEXT)

    def cached_share(self, url, *options):
        """Returns the cached tokens of the prompts ÷ all of their tokens, of a run of 60 jobs."""
        out = self.directory / f"run{len(list(self.directory.iterdir()))}"
        self.measures(paretoken("run", url, "--dataset", self.DATASET, "--osl", str(self.ANSWER), "--num-prompts", "60",
                                "--ramp-up", "0s", *options, "--out", str(out)))
        records = request_lines(out)
        self.assertEqual(len(records), 300)
        return sum(record["cached_prompt_tokens"] for record in records) / sum(record["prompt_tokens"] for record in records)

    def best_share(self):
        """Returns the share if each turn finds the whole prompt of the one before it, in whole blocks."""
        found = [self.PREFIX] + [self.prompt(turn) // self.BLOCK * self.BLOCK for turn in range(self.TURNS - 1)]
        return sum(found) / sum(map(self.prompt, range(self.TURNS)))

    def test_the_cached_share_falls_where_the_contexts_of_live_jobs_no_longer_fit(self):
        contexts_that_fit = 6
        blocks = contexts_that_fit * (self.prompt(self.TURNS - 1) + self.ANSWER) // self.BLOCK
        profile = f"sim:llama3-8b-h100-fp8?blocks={blocks}"
        few = self.cached_share(profile, "--virtual", "--concurrency", "3")
        many = self.cached_share(profile, "--virtual", "--concurrency", "20")
        self.assertAlmostEqual(few, self.best_share(), delta=0.03)
        self.assertLess(many, 0.2)
        # The host's memory has room for all of them.
        kept = self.cached_share(profile + "&kv_offload_bytes=1e12", "--virtual", "--concurrency", "20")
        self.assertAlmostEqual(kept, self.best_share(), delta=0.03)

    def test_the_copy_from_the_hosts_memory_takes_its_time(self):
        def first_tokens(rate):
            out = self.directory / f"rate{rate}"
            profile = f"sim:llama3-8b-h100-fp8?blocks=500&kv_offload_bytes=1e12&kv_offload_bytes_per_s={rate}"
            self.measures(paretoken("run", profile, "--virtual", "--dataset", self.DATASET, "--osl", str(self.ANSWER),
                                    "--num-prompts", "60", "--concurrency", "20", "--out", str(out)))
            return run_json(out)["metrics"]["ttft_s"]["mean"]

        self.assertGreater(first_tokens("1e9"), 2 * first_tokens("100e9"))

    def test_requests_of_one_agent_find_their_context_on_several_engines_only_with_the_right_header(self):
        engines = 5
        # Without the header, a turn finds what the latest turn on the same engine left: that of `back` turns before with the
        # probability (1 - 1/5)^(back - 1) / 5, or else only the prefix of all jobs.
        cached = 0
        for turn in range(self.TURNS):
            for back in range(1, turn + 1):
                at = (1 - 1 / engines) ** (back - 1) / engines
                cached += at * (self.prompt(turn - back) // self.BLOCK * self.BLOCK)
            cached += (1 - 1 / engines) ** turn * self.PREFIX
        without = cached / sum(map(self.prompt, range(self.TURNS)))
        options = ("--concurrency", "13")
        profile = ("--profile", "llama3-8b-h100-fp8", "--seed", "1")
        with simulated_server(*profile, "--replicas", str(engines)) as url:
            self.assertAlmostEqual(self.cached_share(url, *options), self.best_share(), delta=0.05)
        with simulated_server(*profile, "--replicas", str(engines)) as url:
            self.assertAlmostEqual(self.cached_share(url, *options, "--session-header", "none"), without, delta=0.05)
        with simulated_server(*profile, "--replicas", str(engines), "--affinity-header", "X-Other") as url:
            self.assertAlmostEqual(self.cached_share(url, *options), without, delta=0.05)


if __name__ == "__main__":
    unittest.main()
