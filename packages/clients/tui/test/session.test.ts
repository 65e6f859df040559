import { aegisProject, cliPath } from "@aegis/test/helpers/aegis.ts";
import { openPty } from "@aegis/test/helpers/pty.ts";
import { appOn, keys, openApp } from "@aegis/test/helpers/terminal-app.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";

type History = { type: string; data: { text?: string; message?: { body: string } } }[];

async function textsOf(project: Awaited<ReturnType<typeof openApp>>["project"], session: string): Promise<string[]> {
  const { events } = await project.json<{ events: History }>("history", session);
  return events.flatMap(({ type, data }) => (type === "turn.text" ? [data.text ?? ""] : []));
}

describe("the session screen", () => {
  it("starts a session with the first message and shows the answer", async () => {
    const { pty, shows } = await openApp();
    await shows("No session is open");
    pty.type("hello there\r");
    await shows("> hello there");
    await shows("you said: hello there");
    await shows(/ 1 hello there ✓/);
  });

  it("wraps what a new user must know, so that none of it is cut in a narrow terminal", { tags: "slow" }, async () => {
    const files = { ".aegis.yaml": "default_agent: dev\nagents:\n  dev: { harness: scripted }\n" };
    const { pty, shows } = await openApp({ files, columns: 50, rows: 20 });
    await shows("run: aegis doctor");
    pty.type(keys.ctrlT);
    await shows("▸ dev");
    pty.type(keys.enter);
    await shows("A new conversation with the agent");
    await shows("run: aegis doctor");
  });

  it("shows the whole of a long problem, in several rows if needed", async () => {
    const config = "default_agent: dev\nagents:\n  dev: { harness: acp, command: [./agent.sh] }\n";
    const project = await aegisProject({ ".aegis.yaml": config }, { trusted: false });
    const pty = openPty(process.execPath, [cliPath], { cwd: project.root, env: project.env, answers: true });
    await pty.shows("[y/N]");
    pty.type("n\r");
    await pty.shows("● live");
    pty.type("hello\r");
    const problem = /is not started[\s\S]*aegis trust\) +● live/;
    await waitUntil("the problem is shown whole", async () => problem.test(await pty.screen()));
  });

  it("queues while the agent works, shows what waits, and takes it back", { tags: "slow" }, async () => {
    const { pty, shows, hides, open } = await openApp();
    pty.type("hold one\r");
    await shows("holding one");
    await shows("▶ working");
    pty.type("also look at the docs\r");
    await shows("waiting 1");
    await shows(/1 also look at the docs +Alt\+↑ take back/);
    pty.type(keys.altUp);
    await hides("waiting 1");
    await shows("also look at the docs");
    pty.type(keys.ctrlC);
    await hides("also look at the docs");
    pty.type("and this\r");
    await shows("waiting 1");
    await open("one");
    await shows("released one");
    await shows("you said: and this");
    await shows("✓ ready");
  });

  it("interrupts with Esc", { tags: "slow" }, async () => {
    const { pty, shows } = await openApp();
    pty.type("hold never\r");
    await shows("holding never");
    await shows("Esc interrupt");
    pty.type(keys.escape);
    await shows("turn interrupted");
    await shows("✓ ready");
  });

  it("edits many lines, and sends a paste of 10,000 lines as one message", { tags: "slow" }, async () => {
    const { project, pty, shows } = await openApp();
    pty.type(`one${keys.ctrlJ}two\r`);
    await shows("> two");
    await shows("you said: one");
    const lines = Array.from({ length: 10_000 }, (_, index) => `line ${index}`).join("\n");
    pty.type(`\u001b[200~${lines}\u001b[201~`);
    await shows("+10000 lines");
    pty.type("\r");
    // The answer repeats the message, so its end fills the screen.
    await shows("line 9999");
    const { sessions } = await project.json<{ sessions: { handle: string }[] }>("ps");
    await waitUntil("it was answered", async () =>
      (await textsOf(project, sessions[0]?.handle ?? "")).some((text) => text.includes("line 9999")),
    );
  });

  it("completes files and commands, and searches what was sent", { tags: "slow" }, async () => {
    const { pty, shows, hides } = await openApp({
      files: { ...(await import("@aegis/test/helpers/project.ts")).obedient, "src/orchard.ts": "" },
    });
    pty.type("look at @orch");
    await shows("src/orchard.ts");
    pty.type(`${keys.tab}now\r`);
    await shows("> look at @src/orchard.ts now");
    pty.type("/tit");
    await shows("set this session's title");
    pty.type(`${keys.tab}`);
    await shows("/title");
    pty.type("Warm laplace\r");
    await shows("1 Warm laplace");
    pty.type(keys.ctrlR);
    await shows("What you sent before");
    pty.type("orchard\r");
    await hides("What you sent before");
    await shows(/look at @src\/orchard\.ts now\n─/);
  });

  it("folds and unfolds tool calls, and streams text as it is written", async () => {
    const { pty, shows, hides } = await openApp({ files: { ".aegis.yaml": offline, "notes.md": "# First note" } });
    pty.type("read notes.md\r");
    await shows(/▸ read_file notes\.md +2 lines/);
    pty.type(keys.ctrlO);
    await shows(/▾ read_file/);
    pty.type(keys.ctrlO);
    await hides(/▾ read_file/);
  });
});

const offline = "default_agent: dev\nagents:\n  dev: { harness: scripted, permission: write }\n";

describe("the daemon", () => {
  it("may be killed while a person types: nothing is lost, doubled or cleared", { tags: "slow" }, async () => {
    const { project, pty, shows } = await openApp();
    pty.type("first\r");
    await shows("you said: first");
    pty.type("half a sent");
    process.kill((await project.daemonPid()) ?? -1, "SIGKILL");
    await shows("○ daemon away");
    pty.type("ence\r");
    await shows(/1 half a sentence +waits for the daemon/);
    await shows("F5 start the daemon");
    pty.type(keys.f5);
    await shows("● live");
    await shows("you said: half a sentence");
    const { sessions } = await project.json<{ sessions: { handle: string }[] }>("ps");
    expect(await textsOf(project, sessions[0]?.handle ?? "")).toEqual(["you said: first", "you said: half a sentence"]);
    const shown = await pty.screen();
    expect(shown.match(/you said: first/g)).toHaveLength(1);
    expect(shown.match(/> half a sentence/g)).toHaveLength(1);
    // A fresh start draws the same conversation.
    const again = await appOn(project);
    await again.shows("you said: half a sentence");
    const body = (text: string) => text.split("\n").slice(2, -1).join("\n");
    expect(body(await again.pty.screen())).toBe(body(await pty.screen()));
  });
});
