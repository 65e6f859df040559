/** Loaded into a daemon by `walk.mjs`: between two SIGUSR2 it records which functions run, and writes them by file. */
import { writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";

const output = process.env.AEGIS_WALK_OUTPUT;
if (output !== undefined && process.argv[1]?.endsWith("packages/daemon/daemon/src/main.ts")) {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  let isRecording = false;
  process.on("SIGUSR2", async () => {
    if (!isRecording) {
      await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
      // What has run so far does not count.
      await session.post("Profiler.takePreciseCoverage");
      isRecording = true;
      writeFileSync(output, "recording");
      return;
    }
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const ran = result
      .filter(({ url }) => url.includes("/packages/"))
      .map(({ url, functions }) => ({
        file: url.slice(url.lastIndexOf("/packages/") + 10),
        functions: functions
          .filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
          .map(({ functionName, ranges }) => `${functionName}@${ranges[0]?.startOffset}`),
      }))
      .filter(({ functions }) => functions.length > 0);
    isRecording = false;
    writeFileSync(output, JSON.stringify(ran));
  });
}
