import { obedient } from "@aegis/test/helpers/project.ts";
import { appOn, keys, openApp } from "@aegis/test/helpers/terminal-app.ts";
import { describe, expect, it } from "vitest";

const files = {
  ...obedient,
  ".aegis.yaml": [
    "default_agent: dev",
    "agents:",
    "  dev: { harness: scripted, playbook: playbook.yaml }",
    "queues:",
    "  review: { agent: dev }",
    "schedules:",
    '  nightly: { agent: dev, prompt: check, cron: "0 2 * * *" }',
    "",
  ].join("\n"),
};

describe("needs you", () => {
  it("shows the ask whole in the conversation, answers it there, and Esc asks before it interrupts", {
    tags: "slow",
  }, async () => {
    const { project, pty, shows, hides } = await openApp({ files });
    pty.type("may you deploy\r");
    await shows("wants to use deploy");
    await shows(/1 allow +2 always +3 deny/);
    await shows(/^y allow .* n deny/m);
    pty.type(keys.escape);
    await shows("Interrupt the turn?");
    pty.type("n");
    await hides("Interrupt the turn?");
    const { asks } = await project.json<{ asks: unknown[] }>("asks");
    expect(asks).toHaveLength(1);
    // A text that a person writes answers nothing.
    pty.type("xyn1");
    await shows("xyn1");
    pty.type("\u007f\u007f\u007f\u007f");
    await hides("xyn1");
    pty.type("1");
    await shows("allowed: deploy");
    await hides("wants to use deploy");
    pty.type("may you erase\r");
    await shows("wants to use erase");
    pty.type("n");
    await hides("wants to use erase");
    await shows("denied");
  });

  it("shows the action, answers with one key, and drops an ask that is answered elsewhere", async () => {
    const { project, pty, shows, hides } = await openApp({ files });
    pty.type("may you deploy\r");
    await shows("? 1 needs you");
    pty.type(keys.ctrlN);
    await shows("NEEDS YOU  1");
    await shows("wants to use deploy");
    pty.type("y");
    await shows("NEEDS YOU  0");
    await hides("needs you");
    pty.type(keys.escape);
    await shows("allowed: deploy");
    pty.type("may you erase\r");
    await shows("? 1 needs you");
    pty.type(keys.ctrlN);
    await shows("wants to use erase");
    await project.aegis("answer", "deny");
    await shows("NEEDS YOU  0");
  });
});

describe("the dashboard", () => {
  it("shows tasks as they wait, run and end, and cancels after a question", { tags: "slow" }, async () => {
    const { project, pty, shows, hides, open } = await openApp({ files, prepare: (one) => one.aegis("up") });
    pty.type(keys.ctrlD);
    await shows(/QUEUES\n▸ review +0\/1 busy · 0 waiting/);
    await shows("schedule nightly");
    await project.aegis("queue", "enqueue", "review", "hold first");
    await project.aegis("queue", "enqueue", "review", "hold second");
    await shows(/▶ \S+ review · worker \S+/);
    await shows(/1 \S+ review · from you · hold second/);
    await shows("1/1 busy · 1 waiting");
    pty.type(keys.down);
    await shows("last words");
    await shows("holding first");
    pty.type("x");
    await shows("Cancel the task");
    pty.type("n");
    await hides("Cancel the task");
    await open("first");
    await shows(/✓ \S+ review · .* released first/);
    pty.type("gp");
    await shows("‖ paused");
    pty.type(keys.ctrlD);
    await hides("QUEUES");
  });
});

describe("team, agents, palette and help", () => {
  it("show who is there, what was sent, and what one can do", { tags: "slow" }, async () => {
    const { project, pty, shows, hides } = await openApp({ files });
    await project.aegis("spawn", "dev", "--handle", "calm-galois");
    await shows("1 calm-galois");
    pty.type("hello\r");
    await shows("you said: hello");
    pty.type(keys.f4);
    await shows("TEAM  1 session");
    pty.type(keys.tab);
    await shows("├─ message");
    pty.type(keys.enter);
    await shows("message from you to calm-galois");
    pty.type(keys.escape);
    await hides("message from you to calm-galois");
    pty.type(keys.f6);
    await shows(/AGENTS {2}\d+/);
    pty.type(keys.ctrlP);
    await shows("Go to, or do");
    pty.type("dashb\r");
    await shows("IN-FLIGHT");
    pty.type("?");
    await shows("Keys of this screen");
    pty.type(keys.escape);
    await hides("Keys of this screen");
  });
});

it("shows hostile text as text", async () => {
  const say = "A\\x1b[2J\\x1b]0;pwned\\x07\\x1b]52;c;cm0=\\x07\\x9b2JB \\u202Etxt.exe END";
  const playbook = `rules:\n  - name: any\n    when: always\n    steps: [{ say: "${say}" }]\n`;
  const { pty, shows } = await openApp({ files: { ...files, "playbook.yaml": playbook } });
  pty.type("go\r");
  await shows("AB <202E>txt.exe END");
  expect(pty.bytes).not.toContain("pwned");
  expect(pty.bytes).not.toContain("]52;c;cm0=");
});

it("asks a new folder for a configuration, and says what the offline agent is", async () => {
  const { aegisProject, cliPath } = await import("@aegis/test/helpers/aegis.ts");
  const { openPty } = await import("@aegis/test/helpers/pty.ts");
  const project = await aegisProject({});
  const pty = openPty(process.execPath, [cliPath], { cwd: project.root, env: project.env, answers: true });
  await pty.shows("Write a configuration for it? [Y/n]");
  pty.type("\r");
  await pty.shows("It is the offline agent");
  await pty.shows("● live");
});

it("draws after a fresh start what it drew before", { tags: "slow" }, async () => {
  const first = await openApp({ files });
  first.pty.type("hello\r");
  await first.shows("you said: hello");
  const second = await appOn(first.project);
  await second.shows("you said: hello");
  await first.shows("✓ ready");
  await second.shows("✓ ready");
  expect(await second.pty.screen()).toBe(await first.pty.screen());
});
