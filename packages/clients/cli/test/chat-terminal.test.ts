/** `aegis chat` on a terminal: the terminal app with one session, and what stays in the scrollback after it. */
import { aegisProject, cliPath } from "@aegis/test/helpers/aegis.ts";
import { openPty } from "@aegis/test/helpers/pty.ts";
import { appOn, keys } from "@aegis/test/helpers/terminal-app.ts";
import { expect, it } from "vitest";

const files = {
  ".aegis.yaml": "agents:\n  dev: { harness: scripted, playbook: book.yaml }\n",
  "book.yaml": JSON.stringify({
    rules: [
      {
        name: "ask",
        when: "/^may you (.+)/",
        steps: [{ ask: "May I {1}?", tool: "{1}", save: "decision" }, { say: "{decision}: {1}" }],
      },
      { name: "anything else", when: "always", steps: [{ say: "you said: {text}" }] },
    ],
  }),
};
const clean = { buffer: "normal", paste: false, focus: false, wrap: true, mouse: "none", cursor: true };
type Sessions = { sessions: { handle: string; agent: string }[] };

it("opens the named session, answers asks, and leaves the last answers in the scrollback", {
  tags: "slow",
}, async () => {
  const project = await aegisProject(files);
  await project.aegis("spawn", "dev", "--handle", "calm-galois");
  await project.aegis("spawn", "dev", "--handle", "shy-boole");
  const { pty, shows } = await appOn(project, { args: ["chat", "calm-galois"] });
  await shows("calm-galois · dev");
  pty.type("may you touch a\r");
  await shows("? 1 needs you");
  pty.type("/answer\r");
  await shows("y allow");
  pty.type("y");
  await shows("allowed");
  pty.type(keys.escape);
  await shows("allowed: touch a");
  // A paste is text without its control characters, and is not sent by itself.
  pty.type("\u001b[200~one\rtwo \u001b[31mred\u001b[0m\u0007\u0003\tthree\r\u001b[201~");
  await shows(/one\n *two.*red.* three/);
  pty.type("end\r");
  await shows("you said: one");
  await shows("✓ ready");
  pty.type("/quit\r");
  expect(await pty.ended).toBe(0);
  expect(await pty.modes()).toEqual(clean);
  expect(await pty.text()).toMatch(
    /^> may you touch a\n[\s\S]*allowed: touch a\n[\s\S]*> one\n[\s\S]*you said: one\n[\s\S]*calm-galois stays open; continue with: aegis chat calm-galois$/,
  );
  const { events } = await project.json<{ events: { type: string; data: { message: { body: string } } }[] }>(
    ...["history", "calm-galois"],
  );
  const said = events.filter(({ type }) => type === "message.admitted").map(({ data }) => data.message.body);
  expect(said[1]).toMatch(/^one\ntwo .*red.* +three\nend$/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left
  expect(said[1]).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
});

it("closes a session that was never used, and restores the terminal after a signal and without a daemon", {
  tags: "slow",
}, async () => {
  const project = await aegisProject(files);
  await project.aegis("spawn", "dev", "--handle", "warm-euler");
  const unused = await appOn(project, { args: ["chat", "--agent", "dev"] });
  await unused.shows("A new conversation with the agent");
  process.kill(unused.pty.pid, "SIGTERM");
  expect(await unused.pty.ended).toBe(143);
  expect(await unused.pty.modes()).toEqual(clean);
  expect(await unused.pty.text()).not.toContain("stays open");
  expect((await project.json<Sessions>("ps")).sessions).toMatchObject([{ handle: "warm-euler" }]);
  const { pty, shows } = await appOn(project, { args: ["chat", "warm-euler"] });
  pty.type("hello\r");
  await shows("you said: hello");
  process.kill((await project.daemonPid()) ?? -1, "SIGKILL");
  await shows("daemon away");
  pty.type(keys.ctrlC);
  pty.type(keys.ctrlC);
  expect(await pty.ended).toBe(0);
  expect(await pty.modes()).toEqual(clean);
  expect(await pty.text()).toMatch(/^> hello\n\nyou said: hello$/);
});

it("writes plain lines to pipes, and to terminals that cannot move the cursor", { tags: "slow" }, async () => {
  const project = await aegisProject(files);
  await project.aegis("spawn", "dev", "--handle", "calm-galois");
  const env = { ...project.env, TERM: "dumb" };
  const pty = openPty(process.execPath, [cliPath, "chat", "calm-galois"], { cwd: project.root, env });
  await pty.shows("Chatting with calm-galois (offline), agent dev. /help lists commands.");
  pty.type("hello\r");
  await pty.shows("you said: hello");
  pty.type("may you touch a\r");
  await pty.shows(/\/answer \w+ allow/);
  const id = /\/answer (\w+) allow/.exec(await pty.text())?.[1];
  pty.type(`/answer ${id} allow\r`);
  await pty.shows("allowed: touch a");
  pty.type("\u0004");
  expect(await pty.ended).toBe(0);
  expect(await pty.text()).toMatch(/calm-galois stays open; continue with: aegis chat calm-galois$/);
  expect(pty.bytes).not.toContain("\u001b");
  expect(await project.pipe("hello\n/title y\n/nonsense\nbye", "chat", "calm-galois")).toEqual({
    code: 0,
    stdout: "you said: hello\nyou said: bye\n",
    stderr: "title: y\nthere is no /nonsense (/help lists the commands)\n",
  });
});
