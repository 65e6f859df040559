import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ReadlineScreen } from "../src/chat/screen.ts";
import { startFolder, type Terminal } from "../src/terminal/terminal.ts";

describe("the folder a command works in", () => {
  it("is where npm was called, but only for what npm itself started", () => {
    const env = { INIT_CWD: "/home/me/app", npm_package_json: "/opt/aegis/package.json" };
    expect(startFolder("/opt/aegis", env)).toBe("/home/me/app");
    expect(startFolder("/elsewhere", env)).toBe("/elsewhere");
    expect(startFolder("/opt/aegis", {})).toBe("/opt/aegis");
  });
});

describe("a line that is being typed with Node's line editing", () => {
  function screen() {
    // Node edits no line on a terminal that says it is dumb, as that of a build machine may.
    vi.stubEnv("TERM", "xterm");
    onTestFinished(() => void vi.unstubAllEnvs());
    const input = new PassThrough();
    const output = Object.assign(new PassThrough(), { columns: 80 });
    let shown = "";
    output.on("data", (chunk: Buffer) => {
      shown += chunk.toString();
    });
    const reader = createInterface({ input, output, terminal: true });
    onTestFinished(() => reader.close());
    const cx = { stdout: output, write: (text: string) => output.write(text) } as unknown as Terminal;
    const view = new ReadlineScreen(cx, reader);
    view.setPrompt("> ");
    const take = () => {
      const taken = shown;
      shown = "";
      return taken;
    };
    return { view, reader, take };
  }

  it("stays below what comes in, whole lines at a time", () => {
    const { view, reader, take } = screen();
    view.show();
    view.setWork({ since: 0, doing: null });
    reader.write("typed");
    take();
    view.text("half a line");
    expect(take()).toBe("");
    view.text(", now whole\n");
    const shown = take();
    expect(shown).toContain("half a line, now whole\n");
    expect(shown.indexOf("> typed")).toBeGreaterThan(shown.indexOf("whole"));
  });

  it("hides while an answer streams and comes back after it", () => {
    const { view, take } = screen();
    view.show();
    view.setWork({ since: 0, doing: null });
    take();
    view.text("one ");
    view.text("two");
    expect(take()).not.toContain("> ");
    view.setWork(null);
    expect(take()).toMatch(/^\n.*> /s);
  });
});
