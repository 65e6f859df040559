import assert from "node:assert/strict";
import { appendFile, mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startChannel } from "aegis/testing";
import { mailbox } from "./mailbox.ts";

const lines = (...given: object[]) => given.map((line) => `${JSON.stringify(line)}\n`).join("");

test("admits each line once, also after a restart", async () => {
  const projectRoot = await mkdtemp(join(tmpdir(), "mailbox-"));
  const context = { projectRoot, config: { folder: "." } };
  const first = await startChannel(mailbox, context);
  await appendFile(join(projectRoot, "in.jsonl"), lines({ from: "ada", text: "hello" }));
  const [hello] = await first.received(1);
  assert.deepEqual(hello?.content, { kind: "text", text: "hello" });
  await first.stop();

  await appendFile(join(projectRoot, "in.jsonl"), lines({ from: "ada", text: "/stop" }));
  const second = await startChannel(mailbox, { ...context, position: first.position });
  const [stop] = await second.received(1);
  assert.deepEqual(stop?.content, { kind: "command", name: "stop", rest: "" });
  assert.equal(second.position, "2");
  await second.stop();
});

test("writes a repeated delivery once", async () => {
  const projectRoot = await mkdtemp(join(tmpdir(), "mailbox-"));
  const started = await startChannel(mailbox, { projectRoot, config: { folder: "." } });
  assert.equal(await started.send("ada", "done", { key: "k" }), "1");
  assert.equal(await started.send("ada", "done", { key: "k", repeated: true }), "1");
  await started.stop();
  assert.equal(
    await readFile(join(projectRoot, "out.jsonl"), "utf8"),
    lines({ id: "1", key: "k", to: "ada", text: "done" }),
  );
});
