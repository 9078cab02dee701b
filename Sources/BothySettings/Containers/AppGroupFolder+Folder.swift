#if !canImport(Darwin)
  import Foundation

  extension AppGroupFolder {
    /// The folder `$XDG_DATA_HOME/<identifier>`, else `~/.local/share/<identifier>` (XDG Base Directory Specification),
    /// made for its owner alone if it is not there. Throws `BothyError` `.noContainer` when that is impossible.
    public init(appGroup identifier: String) throws(BothyError) {
      guard !identifier.isEmpty, !identifier.contains("/"), !identifier.hasPrefix(".") else {
        throw BothyError(
          .noContainer,
          "'\(identifier)' can't name a shared folder. Use a name such as group.org.example.app.")
      }
      let environment = ProcessInfo.processInfo.environment
      let home = environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
      let folder = (home ?? NSHomeDirectory() + "/.local/share") + "/" + identifier
      do {
        try FileManager.default.createDirectory(
          atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      } catch {
        throw BothyError(
          .noContainer,
          "The shared folder \(folder) can't be made. Set XDG_DATA_HOME to a folder that may be written.",
          underlying: error)
      }
      try self.init(folder: folder)
    }
  }
#endif
