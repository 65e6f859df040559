/** The TCP ports on which processes listen, from `/proc` of Linux, and whether a stranger gets an answer there. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { request } from "node:http";

export function listeningPorts(pids: readonly number[]): number[] {
  const sockets = new Set(pids.flatMap(socketsOf));
  const lines = ["tcp", "tcp6"].flatMap((table) => readFileSync(`/proc/net/${table}`, "utf8").split("\n"));
  const ports = lines.flatMap((line) => {
    const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
    return state === "0A" && sockets.has(inode) ? [Number.parseInt(local.split(":").at(-1) ?? "", 16)] : [];
  });
  return [...new Set(ports)];
}

function socketsOf(pid: number): string[] {
  try {
    const links = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
    return links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []);
  } catch {
    // It has ended.
    return [];
  }
}

/** The answers to requests without a password: of a local program, and of a web page behind a rebound name. */
export async function answersToStrangers(port: number): Promise<string[]> {
  const answers: string[] = [];
  for (const method of ["GET", "POST"]) {
    for (const path of ["/", "/session", "/event", "/doc", "/config", "/pty"]) {
      for (const host of [`127.0.0.1:${port}`, "evil.example"]) {
        const headers = { host, origin: `http://${host}`, "content-type": "application/json" };
        answers.push(`${method} ${path} as ${host}: ${await statusOf({ port, method, path, headers })}`);
      }
    }
  }
  return answers;
}

/** A port that does not speak HTTP counts as an answer: nobody has looked at it. */
function statusOf(options: { port: number; method: string; path: string; headers: object }): Promise<string> {
  return new Promise((resolve) => {
    const sent = request({ ...options, host: "127.0.0.1", headers: { ...options.headers } }, (response) => {
      resolve(String(response.statusCode));
      response.destroy();
    });
    sent.on("error", (error) => resolve(error.message));
    sent.end(options.method === "POST" ? "{}" : undefined);
  });
}
