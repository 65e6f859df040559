/** Locates the files that a worker needs: beside this file in development, beside the daemon when installed. */

const isSource = import.meta.url.endsWith(".ts");

function entry(source: string, built: string): URL {
  return new URL(isSource ? source : built, import.meta.url);
}

export function workerEntry(): URL {
  return entry("../worker/main.ts", "./plugin-worker.js");
}

/** The preload of workers that a plugin starts. */
export function guardEntry(): URL {
  return entry("../worker/guard-main.ts", "./plugin-guard.js");
}

export function stripEntry(): URL {
  return entry("../worker/strip-main.ts", "./plugin-types.js");
}

/** The targets of `import "aegis"` in a plugin. */
export function apiEntries(): { full: string; bare: string; testing: string } {
  return {
    full: entry("../../../plugin-api/src/index.ts", "./plugin-api.js").href,
    bare: entry("../../../plugin-api/src/bare.ts", "./plugin-api-bare.js").href,
    testing: entry("../../../plugin-api/src/testing/index.ts", "./testing.js").href,
  };
}
