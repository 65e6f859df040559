/** `aegis doctor`: checks everything Aegis depends on and says how to fix each problem. */
import { findProjectRoot } from "@aegis/lib/daemon-file.ts";
import type { Style } from "../../format/style.ts";
import { plural } from "../../format/text.ts";
import type { Handler } from "../../program/command.ts";
import { exitCodes } from "../../terminal/context.ts";
import { type Check, createChecks, type Finding } from "./checks.ts";
import type { daemonCommands } from "./spec.ts";

type Reported = Omit<Finding, "repair"> & { check: string; repaired: boolean };

export const doctor: Handler<typeof daemonCommands.doctor> = async (cx, args) => {
  const style = cx.style;
  const root = findProjectRoot(cx.cwd);
  const reports: Reported[] = [];
  for (const check of createChecks(root, cx.env)) {
    for (const report of await examine(check, args.fix)) {
      reports.push(report);
      cx.tell(reportLines(report, style));
    }
  }
  const failed = reports.filter((report) => report.level === "fail").length;
  const warned = reports.filter((report) => report.level === "warn").length;
  const good = warned > 0 ? `Nothing is broken; ${plural(warned, "warning")}.` : style.green("No problems found.");
  const end = failed > 0 ? style.red(`${plural(failed, "check")} failed.`) : good;
  cx.show({ ok: failed === 0, project: root, checks: reports }, ["", end]);
  return failed === 0 ? exitCodes.ok : exitCodes.failed;
};

/** A check that cannot run counts as failed, so that it does not look healthy. */
async function examine(check: Check, fix: boolean): Promise<Reported[]> {
  let findings: Finding[];
  try {
    findings = await check.run();
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    findings = [{ level: "fail", detail, fix: null }];
  }
  return Promise.all(
    findings.map(async ({ repair, ...finding }): Promise<Reported> => {
      if (!fix || repair === undefined) {
        return { check: check.name, ...finding, repaired: false };
      }
      const detail = await repair();
      return { check: check.name, level: "ok", detail, fix: null, repaired: true };
    }),
  );
}

function reportLines(report: Reported, style: Style): string[] {
  const marks = {
    ok: style.green("ok  "),
    none: style.dim("-   "),
    warn: style.yellow("warn"),
    fail: style.red("FAIL"),
  };
  const [first = "", ...more] = report.detail.split("\n");
  return [
    `${marks[report.level]}  ${report.check.padEnd(10)}  ${first}`,
    ...more.map((line) => `${" ".repeat(18)}${line}`),
    ...(report.fix === null ? [] : [`${" ".repeat(18)}${style.dim(report.fix)}`]),
  ];
}
