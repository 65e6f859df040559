import type { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import type { ReadStream, WriteStream } from "node:tty";
import { expect, it, onTestFinished } from "vitest";
import { type KeyboardListener, openKeyboard } from "../src/terminal/keyboard.ts";

function keyboard() {
  const seen: string[] = [];
  const stdin = Object.assign(new PassThrough(), {
    setRawMode: (raw: boolean) => seen.push(raw ? "raw" : "cooked"),
  }) as unknown as ReadStream;
  const stdout = Object.assign(new PassThrough(), {
    write: (bytes: string) => seen.push(bytes),
  }) as unknown as WriteStream;
  const listener: KeyboardListener = {
    input: (bytes) => seen.push(`input ${Buffer.from(bytes).toString()}`),
    end: () => seen.push("end"),
    resize: () => seen.push("resize"),
    pause: () => seen.push("pause"),
    resume: () => seen.push("resume"),
  };
  const opened = openKeyboard(stdin, stdout, listener);
  onTestFinished(() => opened.close());
  return { opened, stdin, stdout, taken: () => seen.splice(0) };
}

const enter = ["raw", "\u001b[?2004h\u001b[?25l"];
const leave = ["\u001b[J\u001b[?7h\u001b[?2004l\u001b[?25h", "cooked"];

it("gives the terminal back before the trace of an uncaught error is printed, and only once", () => {
  const { opened, taken } = keyboard();
  expect(taken()).toEqual(enter);
  (process as EventEmitter).emit("uncaughtExceptionMonitor", new Error("boom"), "uncaughtException");
  expect(taken()).toEqual(leave);
  opened.close();
  expect(taken()).toEqual([]);
});

it("gives the terminal back when the process exits", () => {
  const { taken } = keyboard();
  taken();
  process.emit("exit", 0);
  expect(taken()).toEqual(leave);
});

it("sets its modes again when the process goes on after a stop that it could not see coming", () => {
  const { taken } = keyboard();
  taken();
  process.emit("SIGCONT");
  expect(taken()).toEqual([...leave, ...enter, "resume"]);
});

it("tells of a terminal that hung up, of input and of sizes, until it is closed", async () => {
  const { opened, stdin, stdout, taken } = keyboard();
  taken();
  process.emit("SIGHUP");
  stdout.emit("resize");
  stdin.emit("data", Buffer.from("x"));
  expect(taken()).toEqual(["end", "resize", "input x"]);
  opened.close();
  expect(taken()).toEqual(leave);
  stdout.emit("resize");
  stdin.emit("data", Buffer.from("x"));
  expect(taken()).toEqual([]);
  expect(process.listenerCount("SIGTSTP")).toBe(0);
});
