/**
 * The filter of system calls of a confined program: a program of the kernel's BPF machine, for x64 and arm64. The calls
 * that it refuses are those with which a program could leave or change its namespaces, and rarely tested ones.
 */

/** Numbers of the calls whose arguments decide; `refused` are refused always. */
type Calls = { arch: number; socket: number; ioctl: number; clone: number; refused: readonly number[] };

const calls: Readonly<Record<string, Calls>> = {
  x64: {
    arch: 0xc000003e,
    socket: 41,
    ioctl: 16,
    clone: 56,
    refused: [
      ...[165, 166, 155, 161, 272, 308], // mount umount2 pivot_root chroot unshare setns
      ...[250, 248, 249, 321, 298, 323, 304], // keyctl add_key request_key bpf perf_event_open userfaultfd open_by_handle_at
      ...[246, 175, 313, 176, 320], // kexec_load init_module finit_module delete_module kexec_file_load
    ],
  },
  arm64: {
    arch: 0xc00000b7,
    socket: 198,
    ioctl: 29,
    clone: 220,
    refused: [...[40, 39, 41, 51, 97, 268], ...[219, 217, 218, 280, 241, 282, 265], ...[104, 105, 273, 106, 294]],
  },
};

/** The same number on both: io_uring_*, open_tree move_mount fsopen fsconfig fsmount fspick, mount_setattr. */
const newer = [425, 426, 427, 428, 429, 430, 431, 432, 433, 442];
const clone3 = 435;

const [EPERM, ENOSYS] = [1, 38];
const [TIOCSTI, TIOCLINUX] = [0x5412, 0x541c];
const AF_UNIX = 1;
/** Every flag of a new namespace. */
const CLONE_NEW = 0x7e020000;
const [ALLOW, ERRNO, KILL] = [0x7fff0000, 0x00050000, 0x80000000];
const [LOAD, RETURN, EQUAL, AT_LEAST, ANY_BIT] = [0x20, 0x06, 0x15, 0x35, 0x45];
const [nrOffset, archOffset] = [0, 4];

export type FilterOptions = { unixSockets: boolean };

/** Null for a machine for which no table exists. */
export function seccompFilter({ unixSockets }: FilterOptions, machine: string = process.arch): Uint8Array | null {
  const table = calls[machine];
  if (table === undefined) return null;
  const code: [op: number, ifTrue: number, ifFalse: number, value: number][] = [];
  const add = (op: number, value: number, ifTrue = 0, ifFalse = 0) => code.push([op, ifTrue, ifFalse, value >>> 0]);
  const end = (value: number) => add(RETURN, value);
  /** The lower half of an argument; the tables are of little-endian machines. */
  const loadArgument = (index: number) => add(LOAD, 16 + 8 * index);

  add(LOAD, archOffset);
  add(EQUAL, table.arch, 1, 0);
  end(KILL);
  add(LOAD, nrOffset);
  if (machine === "x64") {
    // Calls of the x32 interface have numbers of their own.
    add(AT_LEAST, 0x40000000, 0, 1);
    end(ERRNO | ENOSYS);
  }
  for (const number of [...table.refused, ...newer]) {
    add(EQUAL, number, 0, 1);
    end(ERRNO | EPERM);
  }
  // Its flags are in memory, where a filter cannot look; the C library then uses `clone`.
  add(EQUAL, clone3, 0, 1);
  end(ERRNO | ENOSYS);
  add(EQUAL, table.clone, 0, 4);
  loadArgument(0);
  add(ANY_BIT, CLONE_NEW, 0, 1);
  end(ERRNO | EPERM);
  end(ALLOW);
  add(EQUAL, table.ioctl, 0, 5);
  loadArgument(1);
  add(EQUAL, TIOCSTI, 1, 0);
  add(EQUAL, TIOCLINUX, 0, 1);
  end(ERRNO | EPERM);
  end(ALLOW);
  if (!unixSockets) {
    add(EQUAL, table.socket, 0, 4);
    loadArgument(0);
    add(EQUAL, AF_UNIX, 0, 1);
    end(ERRNO | EPERM);
    end(ALLOW);
  }
  end(ALLOW);

  const bytes = Buffer.alloc(code.length * 8);
  for (const [index, [op, ifTrue, ifFalse, value]] of code.entries()) {
    bytes.writeUInt16LE(op, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}
