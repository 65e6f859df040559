/** Runs programs of the user: the editor for long messages, the clipboard's tool, and the manager of services. */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Environment = Readonly<Record<string, string | undefined>>;

const largestImage = 5 * 1024 * 1024;
const clipboardMs = 5_000;

/** The name of the user's editor, as `git` finds it; null if none is set. */
function editorOf(env: Environment): string | null {
  return [env.VISUAL, env.EDITOR].find((name) => name !== undefined && name.trim() !== "") ?? null;
}

/** Opens the text in the user's editor, on this terminal. Returns the saved text. Throws if the editor fails. */
export async function editText(text: string, env: Environment): Promise<string> {
  const editor = editorOf(env);
  if (editor === null) throw new Error("no editor is set: set VISUAL or EDITOR, as in EDITOR=nano");
  const folder = await mkdtemp(join(tmpdir(), "aegis-message-"));
  try {
    const file = join(folder, "message.md");
    await writeFile(file, `${text}\n`, { mode: 0o600 });
    // A setting such as `code --wait` has arguments.
    const argv =
      process.platform === "win32" ? ["cmd", "/c", editor, file] : ["/bin/sh", "-c", `${editor} "$1"`, "sh", file];
    const code = await run(argv, env);
    if (code !== 0) throw new Error(`the editor ${editor} exited with ${code}; the message is unchanged`);
    return (await readFile(file, "utf8")).replace(/\r?\n$/, "");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function run([command = "", ...args]: readonly string[], env: Environment): Promise<number | string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: "inherit", env: env as NodeJS.ProcessEnv });
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal ?? 1));
  });
}

/** The exit code of a program, and what it printed; 127 if it cannot be started, as a shell reports it. */
export function programOutput(
  [command, ...args]: readonly [string, ...string[]],
  { env, ms }: { env: Environment; ms: number },
): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: env as NodeJS.ProcessEnv,
      timeout: ms,
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.once("error", (error) => resolve({ code: 127, output: error.message }));
    child.once("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

type Tool = { argv: readonly [string, ...string[]]; install: string };

/** Writes the image of the clipboard to a file in the PNG format, as Base64 on standard output. */
const windowsScript = [
  "Add-Type -AssemblyName System.Windows.Forms,System.Drawing",
  "$i = [Windows.Forms.Clipboard]::GetImage(); if ($i -eq $null) { exit 1 }",
  "$m = New-Object IO.MemoryStream; $i.Save($m, [Drawing.Imaging.ImageFormat]::Png)",
  "$o = [Console]::OpenStandardOutput(); $b = $m.ToArray(); $o.Write($b, 0, $b.Length)",
].join("; ");

function clipboardTool(env: Environment, platform: NodeJS.Platform): Tool | null {
  const powershell: Tool = {
    argv: ["powershell.exe", "-NoProfile", "-STA", "-Command", windowsScript],
    install: "PowerShell",
  };
  if (platform === "darwin") return { argv: ["pngpaste", "-"], install: "pngpaste (brew install pngpaste)" };
  if (platform === "win32") return powershell;
  if (env.WAYLAND_DISPLAY)
    return { argv: ["wl-paste", "--no-newline", "--type", "image/png"], install: "wl-clipboard" };
  if (env.DISPLAY) return { argv: ["xclip", "-selection", "clipboard", "-t", "image/png", "-o"], install: "xclip" };
  return env.WSL_DISTRO_NAME ? powershell : null;
}

/** The PNG image in the clipboard, as Base64. Throws an error for a person if there is none. */
export async function clipboardImage(env: Environment, platform: NodeJS.Platform = process.platform): Promise<string> {
  const tool = clipboardTool(env, platform);
  if (tool === null)
    throw new Error("there is no clipboard here: neither WAYLAND_DISPLAY nor DISPLAY is set. Name a file: @image.png");
  const data = await output(tool, env);
  if (!data.subarray(0, 8).equals(Buffer.from("\x89PNG\r\n\x1a\n", "latin1")))
    throw new Error("the clipboard contains no image");
  return data.toString("base64");
}

function output({ argv: [command, ...args], install }: Tool, env: Environment): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: ["ignore", "pipe", "ignore"],
      env: env as NodeJS.ProcessEnv,
      timeout: clipboardMs,
      killSignal: "SIGKILL",
    });
    const parts: Buffer[] = [];
    let size = 0;
    child.stdout.on("data", (part: Buffer) => {
      size += part.length;
      if (size <= largestImage) parts.push(part);
      else child.kill("SIGKILL");
    });
    child.once("error", () => reject(new Error(`${command} cannot be started: install ${install}, or use @image.png`)));
    child.once("close", (code) => {
      if (size > largestImage) reject(new Error("the image in the clipboard is larger than 5 MB"));
      else if (code !== 0) reject(new Error("the clipboard contains no image"));
      else resolve(Buffer.concat(parts));
    });
  });
}
