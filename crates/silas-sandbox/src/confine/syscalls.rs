//! System call filters by seccomp: everything is allowed but what is named here.
//!
//! A deny list, because a list of what compilers, interpreters and test runners need would be wrong on every second
//! system. It takes away what breaks out of namespaces, what reaches deep into the kernel, and what would leave
//! something behind for others (set-id files). Calls of another architecture end the process. A few calls are answered with
//! something else than a refusal, because programs then take another way: see [`MISSING`], `room` and `buffers`.

use crate::layers::{Layer, in_force};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};
use std::collections::BTreeMap;
use std::io;
use std::sync::OnceLock;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Younger than the C library's lists; these numbers are the same on every architecture.
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const OPEN_TREE_ATTR: i64 = 467;
const FILE_SETATTR: i64 = 469;

/// Refused to everyone, whatever the arguments.
const NEVER: &[i64] = &[
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    OPEN_TREE_ATTR,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Other processes' memory and descriptors.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // The kernel itself.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_fanotify_init,
    // Keys are not separated by any namespace that we use.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Files by handle go past every path.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // Descriptor tables of the processor: old ground on which kernels have stumbled, and nothing of today needs it.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Said to be missing, because programs then take another way. The arguments of `clone3` and `openat2` lie in memory
/// where a filter cannot see them, and io_uring does its work past any filter.
const MISSING: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_clone3,
    libc::SYS_openat2,
];

/// Refused to the front besides: starting programs, and changes to files that Landlock does not judge.
const NEVER_IN_FRONT: &[i64] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_truncate,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
    // By path; an open file of its own may still be given another mode.
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    FILE_SETATTR,
    libc::SYS_utimensat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
];

/// Each of these makes a namespace when it is in the flags of `clone`. (`CLONE_NEWTIME` is a bit of the exit signal
/// there and means nothing.)
const NAMESPACE_FLAGS: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];
/// A set-id file that a program leaves behind would run as the owner of the project, who may be root.
const SET_ID_BITS: [libc::mode_t; 2] = [libc::S_ISUID, libc::S_ISGID];

/// Calls that give a file its mode, and which argument that is.
const MODE_ARGUMENTS: &[(i64, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
];

/// Calls that open a file, and which argument has the flags; the one after it has the mode.
const FLAG_ARGUMENTS: &[(i64, u8)] = &[
    (libc::SYS_openat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
];

/// With one of these `open` makes a file and reads a mode. Without, the mode is whatever lies in the register.
const MAKING_FLAGS: [libc::c_int; 2] = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];

/// What `personality` answers with what is, and sets nothing.
const PERSONALITY_ASKED: u64 = 0xffff_ffff;

/// Locks by which whoever may read a file keeps its owner from opening it, and signals about a directory of the owner's.
const LEASES: [libc::c_int; 2] = [libc::F_SETLEASE, libc::F_NOTIFY];

/// `fallocate` with these takes no room: it makes holes, or takes a part out.
const ROOM_GIVEN: [libc::c_int; 2] =
    [libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, libc::FALLOC_FL_COLLAPSE_RANGE];

/// Requests that are as old as XFS and do what `fallocate` does, on every file system: `FS_IOC_RESVSP`, `FS_IOC_RESVSP64`,
/// `FS_IOC_ZERO_RANGE`.
const ROOM_REQUESTS: [u64; 3] = [0x4030_5828, 0x4030_582a, 0x4030_5839];

pub(crate) fn restrict_cell() -> io::Result<()> {
    apply(cell()?)
}

/// The filters of a cell. They are the same for all, so a process makes them once, and its children find them made.
pub(crate) fn cell() -> io::Result<&'static [BpfProgram]> {
    static MADE: OnceLock<Vec<BpfProgram>> = OnceLock::new();
    if let Some(made) = MADE.get() {
        return Ok(made);
    }
    let mut rules = shared().map_err(io::Error::other)?;
    let families = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];
    only_families(&mut rules, &families).map_err(io::Error::other)?;
    let mut made = compile_all(rules)?;
    for (rules, errno) in [(room(), libc::EOPNOTSUPP), (buffers(), 0)] {
        made.push(rules.and_then(|rules| compile(rules, errno)).map_err(io::Error::other)?);
    }
    Ok(MADE.get_or_init(|| made))
}

/// Taking room on a disk without writing. Said to be unknown to the file system, as on many: the C library then writes, and
/// what is written takes its time, in which somebody looks.
fn room() -> Result<Rules, seccompiler::BackendError> {
    let given: Vec<_> = ROOM_GIVEN.iter().map(|mode| (1, SeccompCmpOp::Ne, *mode as u64)).collect();
    let request = |request: &u64| when(&[(1, SeccompCmpOp::Eq, *request)]);
    Ok(Rules::from([
        (libc::SYS_fallocate, vec![when(&given)?]),
        (libc::SYS_ioctl, ROOM_REQUESTS.iter().map(request).collect::<Result<_, _>>()?),
    ]))
}

/// How large a socket's buffers shall be. Heard, answered with success and not done: it is a wish, the kernel's own sizes are
/// what the memory of a cell is reckoned with, and programs do not expect a refusal.
fn buffers() -> Result<Rules, seccompiler::BackendError> {
    let of = |option: libc::c_int| {
        when(&[(1, SeccompCmpOp::Eq, libc::SOL_SOCKET as u64), (2, SeccompCmpOp::Eq, option as u64)])
    };
    Ok(Rules::from([(libc::SYS_setsockopt, vec![of(libc::SO_SNDBUF)?, of(libc::SO_RCVBUF)?])]))
}

pub(crate) fn restrict_front() -> io::Result<()> {
    let mut rules = shared().map_err(io::Error::other)?;
    rules.extend(NEVER_IN_FRONT.iter().map(|call| (*call, Vec::new())));
    // Netlink tells the resolver which addresses this machine has.
    let families = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    only_families(&mut rules, &families).map_err(io::Error::other)?;
    // Opening for reading with O_TRUNC empties a file, and old versions of Landlock take it for reading.
    let mask = (libc::O_TRUNC | libc::O_ACCMODE) as u64;
    let value = (libc::O_TRUNC | libc::O_RDONLY) as u64;
    for (call, argument) in FLAG_ARGUMENTS {
        let rule = when(&[(*argument, SeccompCmpOp::MaskedEq(mask), value)]).map_err(io::Error::other)?;
        rules.entry(*call).or_default().push(rule);
    }
    apply(&compile_all(rules)?)
}

/// What both refuse.
fn shared() -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = NEVER.iter().map(|call| (*call, Vec::new())).collect();
    for flag in NAMESPACE_FLAGS {
        let bit = flag as u64;
        rules.entry(libc::SYS_clone).or_default().push(when(&[(0, SeccompCmpOp::MaskedEq(bit), bit)])?);
    }
    for (call, argument) in MODE_ARGUMENTS {
        for bit in SET_ID_BITS {
            let bit = u64::from(bit);
            rules.entry(*call).or_default().push(when(&[(*argument, SeccompCmpOp::MaskedEq(bit), bit)])?);
        }
    }
    for (call, flags) in FLAG_ARGUMENTS {
        for (making, bit) in MAKING_FLAGS.iter().flat_map(|flag| SET_ID_BITS.map(|bit| (*flag as u64, u64::from(bit))))
        {
            let makes = (*flags, SeccompCmpOp::MaskedEq(making), making);
            let sets = (*flags + 1, SeccompCmpOp::MaskedEq(bit), bit);
            rules.entry(*call).or_default().push(when(&[makes, sets])?);
        }
    }
    let sets = [(0, SeccompCmpOp::Ne, 0), (0, SeccompCmpOp::Ne, PERSONALITY_ASKED)];
    rules.insert(libc::SYS_personality, vec![when(&sets)?]);
    for lease in LEASES {
        rules.entry(libc::SYS_fcntl).or_default().push(when(&[(1, SeccompCmpOp::Eq, lease as u64)])?);
    }
    // Typing into a terminal on someone's behalf.
    for request in [libc::TIOCSTI, libc::TIOCLINUX] {
        rules.entry(libc::SYS_ioctl).or_default().push(when(&[(1, SeccompCmpOp::Eq, request)])?);
    }
    Ok(rules)
}

fn only_families(rules: &mut Rules, allowed: &[libc::c_int]) -> Result<(), seccompiler::BackendError> {
    let is_other: Vec<_> = allowed.iter().map(|family| (0, SeccompCmpOp::Ne, *family as u64)).collect();
    for call in [libc::SYS_socket, libc::SYS_socketpair] {
        rules.insert(call, vec![when(&is_other)?]);
    }
    Ok(())
}

/// All of these conditions hold. The kernel reads 32 bits of each of these arguments, so no more are compared.
fn when(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, seccompiler::BackendError> {
    let conditions = (conditions.iter())
        .map(|(argument, op, value)| SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, op.clone(), *value))
        .collect::<Result<_, _>>()?;
    SeccompRule::new(conditions)
}

fn apply(programs: &[BpfProgram]) -> io::Result<()> {
    if !in_force(Layer::Seccomp) {
        return Ok(());
    }
    programs.iter().try_for_each(|program| apply_filter(program).map_err(io::Error::other))
}

fn compile_all(refused: Rules) -> io::Result<Vec<BpfProgram>> {
    let missing = MISSING.iter().map(|call| (*call, Vec::new())).collect();
    let mut programs = vec![
        compile(refused, libc::EPERM).map_err(io::Error::other)?,
        compile(missing, libc::ENOSYS).map_err(io::Error::other)?,
    ];
    programs.extend(other_numbering());
    Ok(programs)
}

/// The program begins by ending any process that calls with another architecture's numbers.
fn compile(rules: Rules, errno: libc::c_int) -> Result<BpfProgram, seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let answer = SeccompAction::Errno(errno as u32);
    SeccompFilter::new(rules, SeccompAction::Allow, answer, arch)?.try_into()
}

/// x32 shares the architecture of x86-64 and has its own call numbers, which the rules above do not name.
#[cfg(target_arch = "x86_64")]
fn other_numbering() -> Option<BpfProgram> {
    const X32_BIT: u32 = 0x4000_0000;
    let op = |code: u32, jt, jf, k| seccompiler::sock_filter { code: code as u16, jt, jf, k };
    Some(vec![
        op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0), // the call's number
        op(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, 0, 2, X32_BIT),
        op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, 0, u32::MAX), // -1 is no call at all
        op(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
        op(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ])
}

#[cfg(not(target_arch = "x86_64"))]
fn other_numbering() -> Option<BpfProgram> {
    None
}
