/** What a command writes, as the events of its run show it. */

import type { NewEvent } from "@aegis/contract/event.ts";
import type { RunContext } from "@aegis/engine/engine.ts";
import { buildRedactor, RedactedStream } from "@aegis/lib/redact.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { expect, it } from "vitest";
import type { WorkflowDeps } from "../src/deps.ts";
import { OutputLog } from "../src/output-log.ts";

const secret = "hunter2-secret";

function outputLog() {
  const shown: { stream: string; text: string }[] = [];
  const append = async (event: NewEvent) => {
    if (event.type === "run.output") shown.push({ stream: event.data.stream, text: event.data.text });
  };
  const deps = {
    clock: fakeClock(0),
    redactedStream: () => new RedactedStream(() => buildRedactor([secret])),
    store: { transact: (unit: (tx: unknown) => Promise<unknown>) => unit({ events: { append } }) },
  } as unknown as WorkflowDeps;
  const context = { run: { id: "run_1", workflow: "w" } } as unknown as RunContext;
  return { log: new OutputLog(context, deps, "make"), shown };
}

it("shows no secret that is cut by the end of a piece, and loses no other text", async () => {
  const { log, shown } = outputLog();
  // Enough for an event of its own, which would end in the middle of the secret.
  log.push("stdout", `${"x".repeat(9_000)} hunter2`);
  log.push("stderr", "meanwhile");
  log.push("stdout", "-secret and hunter");
  await log.flush();
  const of = (stream: string) => shown.flatMap((one) => (one.stream === stream ? one.text : [])).join("");
  expect(of("stdout")).toBe(`${"x".repeat(9_000)} [redacted] and hunter`);
  expect(of("stderr")).toBe("meanwhile");
  expect(shown.every((one) => !one.text.includes("hunter2"))).toBe(true);
});
