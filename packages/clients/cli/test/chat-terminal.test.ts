import { type AegisProject, aegisProject, cliPath } from "@aegis/test/helpers/aegis.ts";
import { chat, files, modeOf, modes, openChat, said } from "@aegis/test/helpers/projects/chat.ts";
import { openPty, type Pty } from "@aegis/test/helpers/pty.ts";
import { describe, expect, it } from "vitest";

describe("a paste", () => {
  it("is text with its lines, is harmless, can be edited, and is never sent by itself", async () => {
    const { project, pty } = await chat();
    pty.type("\u001b[200~one\rtwo \u001b[31mred\u001b[0m\u0007\u0003\tthree\r\u001b[201~");
    await pty.shows(/one\n {2}two red {4}three$/);
    pty.type("X\u007ffour\r");
    await pty.shows(/ready ›$/);
    expect(await said(project)).toEqual(["one\ntwo red\tthree\nfour"]);
  });

  it("may be large", async () => {
    const { project, pty } = await chat();
    const line = `${"x".repeat(62)}é\n`;
    const text = line.repeat(Math.ceil(200_000 / line.length));
    pty.type(`\u001b[200~${text.replaceAll("\n", "\r")}\u001b[201~`);
    await pty.shows(/more lines\n[\s\S]*xé/);
    const before = pty.bytes.length;
    pty.type("end");
    await pty.shows("  end");
    // One key draws the rows that are shown, not the text.
    expect(pty.bytes.length - before).toBeLessThan(20_000);
    pty.type("\r");
    await pty.shows(/more characters\n/);
    await pty.shows(/ready ›$/);
    expect(await said(project)).toEqual([`${text}end`]);
  });
});

describe("the terminal", () => {
  const restored = { paste: "off", cursor: "on", wrap: "on" };
  const modesOf = (pty: Pty) =>
    Object.fromEntries(Object.entries(modes).map(([name, mode]) => [name, modeOf(pty, mode)]));

  async function endsWith(ends: Record<string, (pty: Pty, project: AegisProject) => unknown>) {
    const project = await aegisProject(files);
    await project.aegis("spawn", "dev", "--handle", "calm-galois");
    for (const [name, end] of Object.entries(ends)) {
      const pty = await openChat(project);
      expect(modesOf(pty)).toEqual({ paste: "on", cursor: "off", wrap: "on" });
      await end(pty, project);
      expect([name, await pty.ended, modesOf(pty)]).toEqual([name, 0, restored]);
      expect(await pty.text()).toMatch(/calm-galois stays.*$/);
    }
  }

  it("is as before when a key or a command ends the chat", () =>
    endsWith({
      "Ctrl-D": (pty) => pty.type("\u0004"),
      "two presses of Ctrl-C": async (pty) => {
        pty.type("\u0003");
        await pty.shows("press Ctrl-C again to leave");
        pty.type("\u0003");
      },
      "/quit": (pty) => pty.type("/quit\r"),
    }));

  it("is as before when a signal ends the chat", () =>
    endsWith({
      SIGTERM: (pty) => process.kill(pty.pid, "SIGTERM"),
      SIGHUP: (pty) => process.kill(pty.pid, "SIGHUP"),
    }));

  it("is as before when the daemon is gone", () =>
    endsWith({
      "Ctrl-D": async (pty, project) => {
        process.kill((await project.daemonPid()) ?? -1, "SIGKILL");
        // The chat may have had no connection yet.
        await pty.shows(/lost the connection to the daemon|no daemon answers/);
        pty.type("\u0004");
      },
    }));

  it("is the shell's while the chat is stopped, and the chat's when it goes on", async () => {
    const project = await aegisProject(files);
    await project.aegis("spawn", "dev", "--handle", "calm-galois");
    const pty = openPty("/bin/bash", ["--norc", "--noediting", "-i"], {
      cwd: project.root,
      env: { ...project.env, PS1: "shell> " },
    });
    await pty.shows("shell>");
    pty.type(`${process.execPath} ${cliPath} chat calm-galois\r`);
    await pty.shows("ready ›");
    pty.type("a draft");
    await pty.shows("› a draft");
    pty.type("\u001a");
    await pty.shows(/Stopped[\s\S]*shell>/);
    expect(modesOf(pty)).toEqual(restored);
    pty.type("stty -a\r");
    await pty.shows(/ icanon [\s\S]* echo [\s\S]*shell>/);
    pty.type("fg\r");
    await pty.shows(/fg\n[\s\S]*› a draft$/);
    pty.type(" goes on\u0003");
    await pty.shows(/ready ›$/);
    pty.type("\u0004");
    await pty.shows(/stays[\s\S]*shell>/);
    expect(modesOf(pty)).toEqual(restored);
    pty.type("exit\r");
    await pty.ended;
  });
});

it("answers asks, completes commands, and finds what was sent before", async () => {
  const { pty } = await chat();
  pty.type("may you touch a\r");
  await pty.shows(/\/answer allow.*\n.*needs you ›$/);
  pty.type("/answer allow\r");
  await pty.shows("allowed: touch a");
  await pty.shows(/ready ›$/);
  pty.type("/sess\t");
  await pty.shows("› /sessions");
  pty.type("\r");
  await pty.shows("SESSION");
  pty.type("\u001b[A\u001b[A\u001b[A");
  await pty.shows(/› may you touch a$/);
  pty.type("\u0003");
  await pty.shows(/ready ›$/);
  pty.type("\u0004");
  expect(await pty.ended).toBe(0);
});

it("writes to pipes and dumb terminals what it always wrote", async () => {
  const { project, pty } = await chat({ TERM: "dumb" });
  const prompt = "calm-galois (offline) ready › ";
  pty.type("hello\r");
  await pty.shows(/you said: hello[\s\S]*ready ›/);
  pty.type("/title x\r");
  await pty.shows(/title: x[\s\S]*ready ›/);
  pty.type("\u0004");
  expect(await pty.ended).toBe(0);
  expect(pty.bytes).toBe(
    [
      `${prompt}\u001b[1G\u001b[JChatting with calm-galois (offline), agent dev. /help lists commands.`,
      `${prompt}hello\r`,
      "you said: hello",
      `${prompt}/title x\r`,
      "title: x",
      `${prompt}\u001b[1G\u001b[Jcalm-galois stays open; continue with: aegis chat calm-galois`,
      "",
    ].join("\r\n"),
  );
  const piped = await project.pipe("hello\n/title y\n/nonsense\nbye", "chat", "calm-galois");
  expect(piped).toEqual({
    code: 0,
    stdout: "you said: hello\nyou said: bye\n",
    stderr: "title: y\nthere is no /nonsense (/help lists the commands)\n",
  });
});
