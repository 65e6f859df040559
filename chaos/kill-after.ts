/**
 * Loaded into a daemon before its own code, so that what is killed is the built daemon as it is: counts the commits of its
 * store, from when a file says so, and kills it with SIGKILL right after the one that the file names.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

const file = process.env.CHAOS_KILL_AFTER ?? "";
let last: number | null = null;
let commits = 0;

const { prepare } = DatabaseSync.prototype;
DatabaseSync.prototype.prepare = function (text, ...options) {
  const statement = prepare.call(this, text, ...options);
  if (text !== "COMMIT") return statement;
  const run = statement.run.bind(statement);
  return Object.assign(statement, {
    run() {
      const result = run();
      committed();
      return result;
    },
  });
};

function committed(): void {
  // The file is empty between its creation and its first write.
  if (last === null && existsSync(file)) last = Number(readFileSync(file, "utf8")) || null;
  if (last === null) return;
  commits += 1;
  appendFileSync(`${file}.commits`, ".");
  if (commits === last) process.kill(process.pid, "SIGKILL");
}
