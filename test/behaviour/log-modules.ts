/** Loaded into a daemon before its own code: writes the URL of each module that it loads into a file. */
import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";

const file = process.env.LOG_MODULES ?? "";

registerHooks({
  load(url, context, next) {
    appendFileSync(file, `${url}\n`);
    return next(url, context);
  },
});
