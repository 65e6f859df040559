/**
 * Loaded into a daemon before its own code, so that what is killed is the built daemon as it is. Counts its instants from when
 * a file exists: each commit of its store, each write to a harness, each piece of a harness's output before it is handled,
 * each request to a model or a webhook and its answer, the arrival of a webhook, and before and after the reply to it.
 * Kills the daemon with SIGKILL at the one that the file names.
 */
import childProcess, { type ChildProcess } from "node:child_process";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import http, { type ClientRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { DatabaseSync } from "node:sqlite";

const file = process.env.KILL_AT ?? "";
let last: number | null = null;
let count = 0;

function instant(what: string): void {
  // The file is empty between its creation and its first write.
  if (last === null && existsSync(file)) last = Number(readFileSync(file, "utf8")) || null;
  if (last === null) return;
  count += 1;
  appendFileSync(`${file}.instants`, `${what}\n`);
  if (count === last) process.kill(process.pid, "SIGKILL");
}

const { prepare } = DatabaseSync.prototype;
DatabaseSync.prototype.prepare = function (text, ...options) {
  const statement = prepare.call(this, text, ...options);
  if (text !== "COMMIT") return statement;
  const run = statement.run.bind(statement);
  return Object.assign(statement, {
    run() {
      const result = run();
      instant("commit");
      return result;
    },
  });
};

// On PostgreSQL the daemon loads this very package.
if (process.env.AEGIS_DATABASE_URL !== undefined) {
  const { Client } = (await import("pg")).default;
  const query = Client.prototype.query as (...given: unknown[]) => unknown;
  Object.assign(Client.prototype, {
    query(this: unknown, ...given: unknown[]) {
      const answer = Reflect.apply(query, this, given);
      if (given[0] !== "COMMIT" || !(answer instanceof Promise)) return answer;
      return answer.then((result: unknown) => {
        instant("commit");
        return result;
      });
    },
  });
}

const { spawn } = childProcess;
Object.assign(childProcess, {
  spawn(...given: unknown[]) {
    const child: ChildProcess = Reflect.apply(spawn, childProcess, given);
    const { stdin, stdout } = child;
    if (stdin !== null) {
      const write = stdin.write.bind(stdin) as (...parts: unknown[]) => boolean;
      stdin.write = (...parts: unknown[]) => {
        const result = write(...parts);
        instant("write");
        return result;
      };
    }
    if (stdout !== null) {
      const push = stdout.push.bind(stdout);
      stdout.push = (chunk, encoding) => {
        if (chunk !== null) instant("read");
        return push(chunk, encoding);
      };
    }
    return child;
  },
});

const { request } = http;
Object.assign(http, {
  request(...given: unknown[]) {
    const sent: ClientRequest = Reflect.apply(request, http, given);
    instant("request");
    sent.once("response", () => instant("answer"));
    return sent;
  },
});
syncBuiltinESMExports();

const { emit } = http.Server.prototype;
http.Server.prototype.emit = function (name: string | symbol, ...given: unknown[]) {
  if (name === "request") webhookArrives(given[0] as IncomingMessage, given[1] as ServerResponse);
  return Reflect.apply(emit, this, [name, ...given]);
};

function webhookArrives({ url = "" }: IncomingMessage, response: ServerResponse): void {
  if (!url.startsWith("/v1/hooks/")) return;
  instant("arrival");
  const end = response.end.bind(response) as (...given: unknown[]) => ServerResponse;
  response.end = (...given: unknown[]) => {
    instant("before the reply");
    response.once("finish", () => instant("after the reply"));
    return end(...given);
  };
}

const { fetch } = globalThis;
globalThis.fetch = async (...given) => {
  const answer = fetch(...given);
  instant("request");
  const response = await answer;
  instant("answer");
  return response;
};
