#if os(Linux)
  import Foundation

  extension Uptime {
    /// The nanoseconds since this machine started, which never fall.
    package static var nanoseconds: Int64 {
      var time = timespec()
      clock_gettime(clockid_t(CLOCK_BOOTTIME), &time)
      return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// The id of the machine's present run. If the system has none, the id is the process's own, and a relaunch counts
    /// as a restart.
    package static let boot: String = {
      let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)  // see above
      return text.map { $0.filter { !$0.isWhitespace } } ?? UUID().uuidString
    }()
  }
#endif
