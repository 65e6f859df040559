/** Messages that are not only typed: the user's editor, and images from the clipboard and from files. */
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { obedient } from "@aegis/test/helpers/project.ts";
import { openApp } from "@aegis/test/helpers/terminal-app.ts";
import { describe, expect, it } from "vitest";

const ctrlG = "\u0007";
const ctrlV = "\u0016";
/** One pixel. */
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

async function program(root: string, name: string, script: string): Promise<void> {
  await mkdir(join(root, "bin"), { recursive: true });
  await writeFile(join(root, "bin", name), `#!/bin/sh\n${script}\n`);
  await chmod(join(root, "bin", name), 0o755);
}

describe("the external editor", () => {
  it("changes the message, gets the terminal, and may fail", async () => {
    const app = await openApp({
      env: { EDITOR: './bin/edit "two words"' },
      prepare: (project) =>
        program(
          project.root,
          "edit",
          '[ "$1" = "two words" ] || exit 9\n[ -t 0 ] || exit 8\ngrep -q fail "$2" && exit 7\nsed -i "s/draft/letter/" "$2"\necho "and a second line" >> "$2"',
        ),
    });
    const { pty, shows } = app;
    pty.type("a draft");
    await shows("a draft");
    pty.type(ctrlG);
    await shows(/a letter\nand a second line/);
    expect(await pty.modes()).toMatchObject({ buffer: "alternate", paste: true });
    pty.type("\r");
    await shows("> and a second line");
    pty.type("this will fail");
    pty.type(ctrlG);
    await shows("exited with 7; the message is unchanged");
    await shows("this will fail");
  });
});

describe("images", () => {
  it("come from the clipboard, and a message that is refused comes back", { tags: "slow" }, async () => {
    const app = await openApp({
      env: { WAYLAND_DISPLAY: "wayland-0" },
      async prepare(project) {
        project.env.PATH = `${join(project.root, "bin")}:${project.env.PATH}`;
        await writeFile(join(project.root, "pixel.png"), png);
      },
    });
    const { project, pty, shows, hides } = app;
    pty.type("look at ");
    pty.type(ctrlV);
    await shows("wl-paste cannot be started: install wl-clipboard");
    await program(project.root, "wl-paste", "exit 1");
    pty.type(ctrlV);
    await shows("the clipboard contains no image");
    await program(project.root, "wl-paste", '[ "$*" = "--no-newline --type image/png" ] && cat pixel.png');
    pty.type(ctrlV);
    await shows("look at [image #1]");
    pty.type("\r");
    await shows("which does not accept images");
    await shows(/look at \[image #1\]\s*\n─/);
    pty.type("\u0003");
    await hides("look at [image");
    pty.type("see @pixel.png now\r");
    await shows("which does not accept images");
  });

  it("need a display", { tags: "slow" }, async () => {
    const { pty, shows } = await openApp({ files: obedient });
    pty.type(ctrlV);
    await shows("there is no clipboard here");
  });
});
