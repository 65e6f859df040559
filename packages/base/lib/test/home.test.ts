import { userInfo } from "node:os";
import { expect, it } from "vitest";
import { childEnv } from "../src/child-env.ts";
import { homeOf } from "../src/home.ts";

const own = userInfo().homedir;

it.each([
  { HOME: "/home/ada", home: "/home/ada" },
  { HOME: "", home: own },
  { HOME: ".", home: own },
  { HOME: "relative/x", home: own },
])("with HOME=$HOME is $home, and never the folder of the process", ({ HOME, home }) => {
  expect(homeOf({ HOME })).toBe(home);
});

it("is not passed on to a child unless it is absolute", () => {
  expect(childEnv({ HOME: "", PATH: "/bin" }, [])).toEqual({ PATH: "/bin" });
  expect(childEnv({ HOME: ".", PATH: "/bin" }, [])).toEqual({ PATH: "/bin" });
  expect(childEnv({ HOME: "/home/ada" }, [])).toEqual({ HOME: "/home/ada" });
});
