#if os(Linux)
  import Foundation

  extension Uptime {
    /// Returns the uptime of this machine.
    package static func now() -> Uptime {
      var time = timespec()
      clock_gettime(clockid_t(CLOCK_BOOTTIME), &time)
      return Uptime(boot: boot, milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// The id of the machine's present run. If the system has none, the id is the process's own, and a relaunch counts
    /// as a restart.
    private static let boot: String = {
      let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)  // see above
      return text.map { $0.filter { !$0.isWhitespace } } ?? UUID().uuidString
    }()
  }
#endif
