/**
 * The first program in a sandbox: opens the listeners of its network namespace, hands them to the daemon
 * over the channel, and becomes the program. It loads nothing but modules of Node, because it may see nothing else.
 */
import { accessSync, closeSync, constants, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:net";

const closeOnExec = 0o2000000;

const [ports = "", file = "", ...args] = process.argv.slice(2);
for (const port of ports.split(",").filter(Boolean).map(Number)) await handOver(port);
for (const descriptor of readdirSync("/proc/self/fd").map(Number)) if (descriptor > 2) closeInherited(descriptor);
become();

function handOver(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      process.send?.({ port }, server, { keepOpen: true }, (error) => (error === null ? resolve() : reject(error)));
    });
  });
}

/** What the daemon inherited from the shell that started it, and the channel. */
function closeInherited(descriptor: number): void {
  try {
    const info = readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8");
    const flags = Number.parseInt(/^flags:\s+(\d+)/m.exec(info)?.[1] ?? "0", 8);
    if ((flags & closeOnExec) === 0) closeSync(descriptor);
  } catch {
    // The descriptor with which the folder was read is closed already.
  }
}

function become(): void {
  // A failed execve would abort the process with a stack.
  try {
    accessSync(file, constants.X_OK);
    if (!statSync(file).isFile()) throw new Error("it is not a file");
  } catch (error) {
    process.stderr.write(`aegis sandbox: cannot run ${file}: ${error instanceof Error ? error.message : error}\n`);
    process.exit(error instanceof Error && "code" in error && error.code === "ENOENT" ? 127 : 126);
  }
  const { NODE_CHANNEL_FD, NODE_CHANNEL_SERIALIZATION_MODE, AEGIS_HELD_NODE_OPTIONS: held, ...env } = process.env;
  process.execve?.(file, [file, ...args], held === undefined ? env : { ...env, NODE_OPTIONS: held });
  process.stderr.write("aegis sandbox: this Node cannot become another program\n");
  process.exit(126);
}
