import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { AegisError } from "@aegis/contract/errors.ts";
import { ProjectTakenError } from "@aegis/project/state/lock.ts";
import { StoreAwayError } from "@aegis/store/transact.ts";
import { describe, expect, it } from "vitest";
import { mayJoinAgain } from "../src/rejoin.ts";

const shortage = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });

describe("a node joins again", () => {
  it.each([
    ["a lost database", new StoreAwayError("gone")],
    ["a full database", new AegisError("storage_full", "full")],
    ["an unknown outcome", new AegisError("internal", "cannot tell the outcome")],
    ["invalid settings", new AegisError("invalid", "queues: expected a map")],
    ["a full disk of this machine", shortage],
    ["a full disk below the lock", Object.assign(new Error("database or disk is full"), { errcode: 13 })],
    ["another process tries to start", new ProjectTakenError("taken", { isServed: false, hint: "" })],
    ["a port that is taken", new AegisError("conflict", "taken", { cause: errno("EADDRINUSE") })],
    ["a close that fails too", new SuppressedError(shortage, new StoreAwayError("gone"))],
  ])("after %s", (_, error) => {
    expect(mayJoinAgain(error)).toBe(true);
  });

  it.each([
    ["the loss of commits or of its name", new AegisError("conflict", "lost commits")],
    ["the loss of its folder", new AegisError("not_found", "no project folder")],
    ["another daemon serves its folder", new ProjectTakenError("taken", { isServed: true, hint: "" })],
    ["a defect", new TypeError("x is not a function")],
    ["a defect during an outage", new SuppressedError(new TypeError("x"), new StoreAwayError("gone"))],
  ])("but not after %s", (_, error) => {
    expect(mayJoinAgain(error)).toBe(false);
  });
});

describe("a rejection that nothing handles", () => {
  it("tells the node of an outage and does not end the process", () => {
    const { status, stdout } = rejecting('new StoreAwayError("gone")');
    expect({ status, stdout }).toEqual({ status: 0, stdout: "told: gone\nend\n" });
  });

  it("is ignored if an earlier life of the node left it", () => {
    expect(rejecting('new StoreOverError("closed")')).toMatchObject({ status: 0, stdout: "end\n" });
    expect(rejecting('new StoreAwayError("gone")', "stop();")).toMatchObject({ status: 0, stdout: "end\n" });
  });

  it("ends the process if it is a defect", () => {
    const { status, stderr } = rejecting('new TypeError("x is not a function")');
    expect(status).not.toBe(0);
    expect(stderr).toContain("TypeError: x is not a function");
  });
});

function errno(code: string): Error {
  return Object.assign(new Error(code), { code });
}

/** A process of its own: the test runner listens to such rejections too. */
function rejecting(error: string, before = "") {
  const at = (path: string) => JSON.stringify(fileURLToPath(new URL(`../../../../${path}`, import.meta.url)));
  const script = `
    import { Outages } from ${at("packages/daemon/daemon/src/rejoin.ts")};
    import { StoreAwayError, StoreOverError } from ${at("packages/base/store/src/transact.ts")};
    const stop = new Outages().follow((error) => console.log("told: " + error.message));
    ${before}
    Promise.reject(${error});
    setTimeout(() => console.log("end"), 20);`;
  return spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
}
