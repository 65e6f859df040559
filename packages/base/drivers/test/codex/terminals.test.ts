/** No agent types into a running command: nothing could check what it types. */
import type { Agent } from "@aegis/contract/agent.ts";
import type { DriverHostOptions } from "@aegis/test/helpers/driver-host.ts";
import { endOf, eventsOf, runTurn, textOf } from "@aegis/test/helpers/turns.ts";
import { createBench } from "@aegis/test/suites/driver-bench.ts";
import { expect, test } from "vitest";
import { codexAgent, codexUnderTest } from "./under-test.ts";

async function open(terminals: string | null, agent: Partial<Agent> = {}, host: DriverHostOptions = {}) {
  const env: Record<string, string> = terminals === null ? {} : { FIXTURE_TERMINALS: terminals };
  const under = codexUnderTest(codexAgent({ permission: "full", env, ...agent }));
  const bench = await createBench(under, "asks", host);
  const { conversation } = await bench.open();
  return { bench, run: (prompt: string) => runTurn(conversation, prompt) };
}

test("a thread has no terminals, and nobody is told", async () => {
  const { bench, run } = await open(null);
  const { params } = JSON.parse(textOf(await run("do:self"))) as { params: { config: Record<string, unknown> } };
  expect(params.config).toMatchObject({ "features.unified_exec_tty": false, "features.unified_exec": false });
  expect(textOf(await run("do:asks"))).toBe("allowed accept");
  expect(bench.host.notices).toEqual([]);
});

test.each(["forced", "unknown"])("of a Codex whose terminals are %s, only plain reads may run", async (terminals) => {
  const { bench, run } = await open(terminals, {}, { guarded: [".aegis.yaml"] });
  expect(bench.host.notices).toMatchObject([
    { level: "error", text: expect.stringContaining("Update it: npm install") },
  ]);
  const answer = async (command: string) => {
    const params = { itemId: "i", command: `/bin/bash -lc '${command}'` };
    return textOf(await run(`do:question item/commandExecution/requestApproval ${JSON.stringify(params)}`));
  };
  expect(await answer("cat | sh")).toBe('{"decision":"decline"}');
  expect(await answer("cat a.txt")).toBe('{"decision":"accept"}');
  expect(bench.host.asked).toEqual([]);
});

test("what is typed into a command ends the turn and the command, and is recorded", async () => {
  const { run } = await open(null);
  const events = await run('do:type "touch forbidden\\n"');
  expect(endOf(events)).toMatchObject({ reason: "refused", error: { code: "blocked" } });
  expect(eventsOf(events, "tool_call").at(-1)).toMatchObject({
    name: "write_stdin",
    kind: "execute",
    input: { text: "touch forbidden\n" },
  });
  expect(eventsOf(events, "tool_result").at(-1)).toMatchObject({ is_error: true });
  expect(eventsOf(events, "notice")).toMatchObject([
    { level: "error", text: expect.stringContaining("touch forbidden") },
  ]);
  expect(textOf(await run("do:terminated"))).toBe("terminated 77");
});

test.each(["", "\u0003"])("waiting for a command and stopping it (%j) end nothing", async (keys) => {
  const { run } = await open(null);
  expect(endOf(await run(`do:type ${JSON.stringify(keys)}`)).reason).toBe("completed");
});

test("an approval to type is refused", async () => {
  const { bench, run } = await open(null);
  const params = { kind: "writeStdin", itemId: "i", command: "ls" };
  const question = `do:question item/commandExecution/requestApproval ${JSON.stringify(params)}`;
  expect(textOf(await run(question))).toBe('{"decision":"decline"}');
  expect(bench.host.asked).toEqual([]);
});
