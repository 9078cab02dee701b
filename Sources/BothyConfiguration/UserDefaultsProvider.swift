package import Configuration
package import Foundation

/// A provider of swift-configuration over user defaults: launch arguments and the values from settings panels.
///
/// Values from `UserDefaults.register` can't be distinguished from stored values on every platform. They count as
/// stored. Pass defaults of last resort to the reader instead.
///
/// The conformance is unchecked because any thread may use `UserDefaults`. Its documentation says so, but its
/// declaration does not.
package struct UserDefaultsProvider: PolledProvider, @unchecked Sendable {
  package let providerName = "user defaults"
  private let defaults: UserDefaults

  /// Reads the app's own user defaults, or those of a suite.
  package init(_ defaults: UserDefaults = .standard) { self.defaults = defaults }

  package func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
    try LookupResult(key, type) { name in
      try defaults.object(forKey: name).map { object in
        guard let content = ConfigContent(propertyList: object) else {
          throw WrongType(name: name, wanted: type)
        }
        return content
      }
    }
  }

  package func snapshot() -> any ConfigSnapshot {
    PropertyListProvider(providerName, propertyList: defaults.dictionaryRepresentation())
  }
}
