//! What stops what: every attempt beside the layers that keep it from succeeding, each by itself as far as that is known.
//! The layers are those of `src/layers.rs`, where the unit tests leave them out one by one and together.
//!
//! The runner prints a row beside each result; "control skipped" in the result means that this system or user could not
//! show the attempt succeeding outside. `ordinary` and `errors` have no rows: nothing tries to get out there.

use crate::runner::Case;

#[rustfmt::skip]
const ROWS: &[(&str, &str)] = &[
    ("files::write_outside_by_absolute_path",     "Root, Landlock"),
    ("files::write_outside_by_dot_dot",           "Root, Landlock"),
    ("files::write_outside_by_symlink",           "Root, Landlock"),
    ("files::read_a_secret_outside",              "Root"),
    ("files::write_in_a_read_only_mount",         "ReadOnly, Landlock (not below /tmp)"),
    ("files::write_in_a_nested_read_only_mount",  "ReadOnly"),
    ("files::move_a_nested_read_only_mount_away", "ReadOnly; the kernel keeps mount points"),
    ("files::write_in_the_system_directories",    "ReadOnly, Landlock, User"),
    ("files::leave_a_set_uid_file_behind",        "Seccomp"),
    ("files::make_a_device_node",                 "Landlock; Capabilities, but for whiteouts"),
    ("files::mount_over_a_planted_symlink",       "refused before the start"),
    ("files::mount_from_behind_a_symlink",        "refused before the start"),
    ("files::mount_where_nothing_is",             "refused before the start"),
    ("files::keep_something_in_tmp",              "Root"),
    ("paths::write_outside_by_hard_link",         "Root; the kernel links within one mount"),
    ("paths::rename_an_ancestor",                 "Root"),
    ("paths::climb_from_a_moved_directory",       "Root"),
    ("paths::swap_the_source_of_a_mount",         "sources are opened without following links"),
    ("paths::swap_the_place_of_a_mount",          "places are opened without following links"),
    ("paths::reach_a_file_through_descriptor_links", "Root, Descriptors, Inspection"),
    ("home::write_git_hooks",                     "ReadOnly"),
    ("home::write_shell_profiles",                "Root, Landlock"),
    ("home::read_keys_in_the_home",               "Root"),
    ("home::be_loaded_by_a_poisoned_environment", "Environment"),
    ("home::connect_to_sockets_that_were_granted_along", "covered up at the start; Landlock from ABI 9"),
    ("processes::see_other_processes",            "Processes, Inspection"),
    ("processes::read_an_inherited_descriptor",   "Descriptors"),
    ("processes::read_the_callers_environment",   "Environment, Processes"),
    ("processes::trace_another_process",          "Seccomp, Landlock, Processes"),
    ("processes::see_the_callers_keys",           "Root: its list is covered; Session"),
    ("processes::write_another_process_memory",   "Seccomp"),
    ("processes::write_through_proc_mem",         "Landlock, Inspection"),
    ("processes::kill_a_process_of_the_host",     "Processes, Landlock from ABI 6"),
    ("processes::kill_the_init",                  "Processes"),
    ("processes::survive_by_a_double_fork",       "Processes"),
    ("processes::survive_the_caller",             "Lifeline"),
    ("processes::survive_being_cancelled",        "Processes"),
    ("kernel::write_core_pattern",                "User, ReadOnly, Landlock"),
    ("kernel::pull_the_sysrq_trigger",            "User, ReadOnly, Landlock"),
    ("kernel::write_any_switch_in_proc",          "User, ReadOnly, Landlock"),
    ("kernel::use_sys",                           "Root"),
    ("kernel::write_control_group_files",         "Root, Landlock, User"),
    ("kernel::mount_something",                   "Seccomp, Capabilities"),
    ("kernel::make_a_user_namespace",             "Seccomp; User: its namespace may have none"),
    ("kernel::make_a_user_namespace_by_clone",    "Seccomp; User: its namespace may have none"),
    ("kernel::change_the_root",                   "Seccomp, Capabilities"),
    ("kernel::gain_by_a_set_uid_program",         "User, NoSetId, NoNewPrivileges"),
    ("kernel::gain_by_a_file_capability",         "BoundingSet, NoSetId, NoNewPrivileges"),
    ("kernel::have_capabilities",                 "Capabilities, BoundingSet, User"),
    ("kernel::run_before_everybody_else",         "Capabilities, User"),
    ("calls::call_what_is_refused",               "Seccomp"),
    ("calls::use_io_uring",                       "Seccomp"),
    ("calls::call_by_x32_numbers",                "Seccomp"),
    ("calls::call_by_32_bit_entry",               "Seccomp"),
    ("calls::execute_from_memory",                "all of them outlive an exec"),
    ("network::connect_by_tcp",                   "Network"),
    ("network::send_by_udp",                      "Network"),
    ("network::connect_by_ipv6",                  "Network"),
    ("network::ask_a_name_server",                "Network"),
    ("network::open_a_raw_socket",                "Capabilities, User"),
    ("network::open_other_socket_families",       "Seccomp"),
    ("network::connect_to_an_abstract_socket",    "Network, Landlock from ABI 6"),
    ("network::connect_to_a_socket_file_outside", "Root"),
    ("network::see_network_interfaces",           "Network"),
    ("network::talk_to_its_own_server",           "nothing: it must work"),
    ("broker::reached_by_curl",                   "nothing: it must work"),
    ("broker::reached_by_node",                   "nothing: it must work"),
    ("broker::reached_by_python",                 "nothing: it must work"),
    ("broker::reached_by_a_static_program",       "nothing: it must work"),
    ("broker::reached_by_address_and_localhost",  "nothing: it must work"),
    ("broker::reached_by_ipv6",                   "nothing: it must work"),
    ("broker::much_in_both_directions",           "nothing: it must work"),
    ("broker::more_streams_than_places",          "nothing: it must work, later"),
    ("broker::nothing_without_a_grant",           "Network"),
    ("broker::by_the_address_behind_a_name",      "Network"),
    ("broker::by_odd_spellings",                  "Network"),
    ("broker::by_a_redirect",                     "Network"),
    ("broker::by_another_port",                   "no outlet listens there"),
    ("broker::by_another_hosts_port",             "every name has an address of its own"),
    ("broker::by_a_name_that_changes_its_mind",   "the broker asks once"),
    ("broker::by_a_name_of_something_private",    "the broker judges every address"),
    ("broker::by_a_name_of_both",                 "the broker judges every address"),
    ("broker::by_dns_and_udp",                    "Network"),
    ("broker::without_being_written_down",        "the supervisor ends the run"),
    ("broker::failures_are_reported",             "nothing: it must be told"),
    ("broker::too_often",                         "the broker counts"),
    ("broker::a_port_for_a_login",                "nothing: it must work"),
    ("broker::a_port_that_is_taken",              "refused before the start"),
    ("names::asked_by_getent",                    "nothing: it must be told"),
    ("names::asked_by_python",                    "nothing: it must be told"),
    ("names::asked_by_curl",                      "nothing: it must be told"),
    ("names::asked_by_git",                       "nothing: it must be told"),
    ("names::asked_by_node",                      "nothing: it must be told"),
    ("names::asked_by_busybox",                   "nothing: it must be told"),
    ("names::addresses_that_are_tried",           "nothing: it must be told"),
    ("names::granted_names_are_not_refused",      "nothing: it must work"),
    ("names::by_asking_a_name_server_outside",    "Network"),
    ("names::by_names_that_carry_something",      "the name server keeps what could be granted"),
    ("names::by_a_flood_of_questions",            "the supervisor looks after everything in turn"),
    ("names::by_taking_the_servers_place",        "Capabilities; ReadOnly"),
    ("secrets::asked_for_by_name",                "nothing: it must work"),
    ("secrets::not_in_the_plan",                  "the broker knows the plan's names"),
    ("secrets::unknown_to_silas",                 "nobody has it"),
    ("secrets::without_any_secret",               "there is no socket and no program"),
    ("secrets::by_talking_to_the_socket",         "the broker knows the plan's names; ReadOnly"),
    ("secrets::lying_around",                     "it comes when it is asked for"),
    ("secrets::without_being_written_down",       "the supervisor ends the run"),
    ("limits::run_past_the_wall_clock",           "the supervisor's clock, Processes"),
    ("limits::fork_without_end",                  "ResourceLimits, Group, the supervisor's clock"),
    ("limits::have_too_many_processes",           "ResourceLimits, Group"),
    ("limits::flood_the_output",                  "the supervisor keeps the beginning"),
    ("limits::write_a_huge_file",                 "ResourceLimits"),
    ("limits::fill_scratch_space",                "Root: its own file systems have a size"),
    ("limits::flood_scratch_space_with_files",    "Root: its own file systems have a number of files"),
    ("limits::flood_the_disk",                    "the supervisor leaves a reserve"),
    ("limits::flood_the_disk_with_files",         "the supervisor leaves a reserve"),
    ("limits::use_up_what_can_be_watched",        "User: its namespace has a number of them"),
    ("limits::open_too_many_files",               "ResourceLimits"),
    ("limits::leave_a_core_file",                 "ResourceLimits"),
    ("limits::start_with_huge_arguments",         "the kernel's own limit, said clearly"),
    ("limits::take_too_much_memory",              "ResourceLimits, Group"),
    ("limits::burn_processor_time",               "ResourceLimits"),
    ("groups::take_too_much_memory_together",     "Group"),
    ("groups::take_too_much_memory_as_files",     "Group"),
    ("groups::go_on_after_memory_ran_out",        "Group"),
    ("groups::be_outside_the_group",              "Group"),
    ("groups::see_the_groups",                    "GroupView, Root"),
    ("groups::leave_a_group_behind",              "removed after the run"),
    ("groups::leave_a_group_behind_by_killing_the_caller", "swept at the next start"),
    ("front::touch_files_elsewhere",              "Landlock; Seccomp for modes, times, attributes"),
    ("front::set_an_attribute_by_a_younger_call", "Seccomp"),
    ("front::use_roots_powers",                   "Capabilities"),
    ("front::start_a_program",                    "Seccomp, Landlock"),
    ("front::serve",                              "nothing: it must work"),
];

/// Groups without attempts.
const NO_ATTEMPTS: [&str; 2] = ["ordinary", "errors"];

/// Every attempt has its row, and every row its attempt.
pub(crate) fn check(groups: &[(&str, &[Case])]) {
    let cases = groups.iter().filter(|(group, _)| !NO_ATTEMPTS.contains(group));
    let names: Vec<String> =
        cases.flat_map(|(group, cases)| cases.iter().map(move |(case, _)| format!("{group}::{case}"))).collect();
    for name in &names {
        assert!(row(name).is_some(), "{name} has no row in the table");
    }
    for (name, _) in ROWS {
        assert!(names.iter().any(|other| other == name), "{name} is in the table and nowhere else");
    }
}

pub(crate) fn remark(name: &str) -> String {
    row(name).map_or_else(String::new, |stopped_by| format!(" [{stopped_by}]"))
}

fn row(name: &str) -> Option<&'static str> {
    ROWS.iter().find(|(other, _)| *other == name).map(|(_, stopped_by)| *stopped_by)
}
