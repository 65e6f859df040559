import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/live/**", "**/node_modules/**"],
    globalSetup: ["test/helpers/global-setup.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Behaviour tests start real daemons. One file more than cores uses the time in which others wait for a disk.
    maxWorkers: 3,
    pool: "forks",
    // Nothing has state of its own beside what a test makes, so that files can follow each other in one process.
    isolate: false,
  },
});
