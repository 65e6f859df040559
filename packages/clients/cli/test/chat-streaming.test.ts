/** A chat in a terminal while an answer streams. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aegisProject, cliPath } from "@aegis/test/helpers/aegis.ts";
import { chat, count, files, said, story } from "@aegis/test/helpers/projects/chat.ts";
import { hasTmux, openTmux } from "@aegis/test/helpers/tmux.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";

describe("while an answer streams", () => {
  it("keeps what is typed below it, shows for how long it works, and keeps messages out of the answer", async () => {
    const { project, pty, open } = await chat();
    pty.type("story\r");
    await pty.shows("Once there");
    pty.type("what are\u001b\ryou");
    await pty.shows(/working \d+s\n.* › what are\n {2}you/);
    pty.type("\r");
    await pty.shows(/working \d+s\nqueued › what are you\n/);
    pty.type("draft");
    await pty.shows(/working 2s\n[\s\S]*› draft$/);
    await open();
    await pty.shows(/› what are\n {2}you\nyou said: what are\n[\s\S]*ready › draft$/);
    const text = await pty.text();
    expect(text).toContain(`${story.start}\nIt pauses.\n${story.end}\n`);
    expect(text.indexOf(story.end)).toBeLessThan(text.indexOf("› what are"));
    expect(text).not.toMatch(/working \d|queued ›/);
    expect(await said(project)).toEqual(["story", "what are\nyou"]);
  });

  const draft =
    "some words that are longer than a narrow window can show in one row, so that they wrap again and again";
  const sizes = [
    [60, 24],
    [33, 20],
    [100, 30],
    [45, 16],
    [80, 24],
  ] as const;
  const once = ["› story", story.start, story.end, "some words", "second line"];

  it("survives changes of the window's size without a trace in the scrollback", async () => {
    const { pty, open } = await chat({ TERM_PROGRAM: "vscode" });
    pty.type("story\r");
    // xterm.js cuts off, at the new width, the line that the cursor is on.
    await pty.shows("It pauses.");
    pty.type(`${draft}\u001b\rsecond line`);
    await pty.shows("second line");
    for (const [columns, rows] of sizes) {
      const before = pty.bytes.length;
      pty.resize(columns, rows);
      await waitUntil("it draws", () => pty.bytes.length > before);
    }
    await open();
    await pty.shows(/ready › some[\s\S]*second line$/);
    const text = await pty.text();
    for (const part of once) expect([part, count(text, part)]).toEqual([part, 1]);
    expect(text).not.toMatch(/working|…/);
  });

  it.skipIf(!hasTmux)("survives them in tmux, also while text comes in", async () => {
    const project = await aegisProject(files);
    await project.aegis("spawn", "dev", "--handle", "calm-galois");
    const tmux = await openTmux(project.root, project.env, [process.execPath, cliPath, "chat", "calm-galois"]);
    await tmux.shows("ready ›");
    await tmux.type("earlier", "Enter");
    await tmux.shows("you said: earlier");
    await tmux.type("story", "Enter");
    await tmux.shows("Once there");
    await tmux.type(draft, "M-Enter", "second line");
    await tmux.shows("second line");
    for (const [columns, rows] of sizes) {
      await tmux.resize(columns, rows);
      await tmux.shows(/second *line/);
    }
    await writeFile(join(project.root, "gate"), "");
    await tmux.shows(/ready › some[\s\S]*second line$/);
    const [text, screen] = [await tmux.text(), await tmux.screen()];
    // tmux forgets where it wrapped a line that grew while the width changed, so spaces and ends of lines do not count.
    const flat = (shown: string) => shown.replace(/\s+/g, "");
    // tmux wraps and scrolls before the chat hears of the new size, so a row of the input may stay in its scrollback,
    // also between two rows of the answer.
    const isInput = (row: string) => flat(row).length > 8 && (flat(draft).includes(flat(row)) || /› some/.test(row));
    const answer = flat(
      text
        .split("\n")
        .filter((row) => !isInput(row))
        .join("\n"),
    );
    for (const part of ["› story", "Once there", story.end].map(flat))
      expect([part, count(answer, part)]).toEqual([part, 1]);
    // The line that grew while the width changed may lose a character where tmux wrapped it.
    const missing = story.start.split(" ").filter((word) => !answer.includes(word));
    expect(missing.length, missing.join(" ")).toBeLessThan(3);
    for (const part of ["some words", "second line"]) expect([part, count(screen, part)]).toEqual([part, 1]);
    expect(screen).not.toMatch(/working|…/);
  });
});
