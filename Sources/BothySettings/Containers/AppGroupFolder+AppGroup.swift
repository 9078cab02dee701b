#if canImport(Darwin)
  import Foundation

  extension AppGroupFolder {
    /// The container of an App Group.
    ///
    /// - Throws: `BothyError` `.noContainer` if this process may not use it. Add the group to the entitlements of the
    ///   app and of each extension.
    public init(appGroup identifier: String) throws(BothyError) {
      guard
        let url = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: identifier)
      else {
        throw BothyError(
          .noContainer,
          "The App Group '\(identifier)' has no shared container. Add the group to the entitlements "
            + "(Signing & Capabilities, App Groups) of the app and of each extension that shares the settings."
        )
      }
      try self.init(folder: url.path)
    }
  }
#endif
