/** Reads the terminal key by key. Restores every terminal mode that it changes, however the process ends. */
import type { ReadStream, WriteStream } from "node:tty";

export type KeyboardListener = {
  input(bytes: Uint8Array): void;
  /** No more input will come: the terminal was closed or hung up. */
  end(): void;
  /** The size may have changed. */
  resize(): void;
  /** The process is about to be suspended (Ctrl-Z): the drawn area must be erased. */
  pause(): void;
  /** The process continues. The screen content may have changed. */
  resume(): void;
};

export type Keyboard = {
  /** Suspends the process and the rest of its job until the shell continues them. */
  suspend(): void;
  /** Restores the terminal. */
  close(): void;
};

/** Bracketed paste on, cursor hidden. */
const enter = "\u001b[?2004h\u001b[?25l";
/** Clears the screen below the cursor; restores the modes and automatic wrapping. */
const leave = "\u001b[J\u001b[?7h\u001b[?2004l\u001b[?25h";

export function openKeyboard(stdin: ReadStream, stdout: WriteStream, listener: KeyboardListener): Keyboard {
  let isOn = false;
  const on = () => {
    if (isOn) return;
    isOn = true;
    stdin.setRawMode(true);
    stdout.write(enter);
  };
  const off = () => {
    if (!isOn) return;
    isOn = false;
    stdout.write(leave);
    // A closed terminal has no modes.
    if (!stdin.destroyed) stdin.setRawMode(false);
  };

  const stop = (target: number) => {
    listener.pause();
    off();
    // Without a listener the signal suspends the process here, unless no shell could continue it.
    process.off("SIGTSTP", onStop);
    process.kill(target, "SIGTSTP");
    process.on("SIGTSTP", onStop);
    on();
    listener.resume();
  };
  const onStop = () => stop(process.pid);
  const onContinue = () => {
    // The shell has set its own modes while the process was stopped.
    off();
    on();
    listener.resume();
  };
  const onEnd = () => listener.end();
  const onData = (bytes: Uint8Array) => listener.input(bytes);
  const onResize = () => listener.resize();

  process.on("exit", off);
  process.on("uncaughtExceptionMonitor", off);
  process.on("SIGTSTP", onStop);
  process.on("SIGCONT", onContinue);
  process.on("SIGHUP", onEnd);
  stdout.on("resize", onResize);
  stdin.on("end", onEnd);
  stdin.on("error", onEnd);
  stdin.on("data", onData);
  on();
  stdin.resume();

  return {
    // The job may have more processes, for example under npm. Suspend all of them, as the terminal does for the key.
    suspend: () => stop(0),
    close() {
      off();
      process.off("exit", off);
      process.off("uncaughtExceptionMonitor", off);
      process.off("SIGTSTP", onStop);
      process.off("SIGCONT", onContinue);
      process.off("SIGHUP", onEnd);
      stdout.off("resize", onResize);
      stdin.off("end", onEnd);
      stdin.off("data", onData);
      // Keep the error listener: a closed terminal may report an error later.
      stdin.pause();
    },
  };
}
