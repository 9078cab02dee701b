#if canImport(Darwin)
  import Darwin
  import Foundation

  extension Uptime {
    /// The nanoseconds since this machine started, which never fall.
    package static var nanoseconds: Int64 {
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC, &time)
      return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// The id of the machine's present run. If the system has none, the id is the process's own, and a relaunch counts
    /// as a restart.
    package static let boot: String = {
      let name = "kern.bootsessionuuid"
      var size = 0
      guard sysctlbyname(name, nil, &size, nil, 0) == 0, size > 1 else { return UUID().uuidString }
      var bytes = [UInt8](repeating: 0, count: size)
      guard sysctlbyname(name, &bytes, &size, nil, 0) == 0 else { return UUID().uuidString }
      return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }()
  }
#endif
