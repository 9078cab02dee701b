public import BothyCache
public import Configuration
public import Foundation

/// Reading the settings of a cache from the places where an app stores settings.
///
/// This extension is in a target of its own, so that apps without swift-configuration do not build it.
extension CacheSettings {
  /// Reads the settings from four places, the first of which with a valid value wins.
  ///
  /// The order is: the app's code, the user's stored defaults, the property list, the registered defaults. Each place
  /// is read once. Later changes take effect with the next cache that is opened. Reading never fails: for an invalid
  /// value, the next place counts.
  ///
  /// The names are `bothy.cache.memory.bytes`, `.memory.count`, `.memory.order`, `.decoded.bytes`, `.disk.bytes`,
  /// `.disk.count` and `.disk.order`. Numbers are whole. Orders are `leastRecentlyUsed`, `firstIn` and, in memory,
  /// `scanResistant`.
  /// - Parameters:
  ///   - explicit: the values that the app's code sets, such as an `InMemoryProvider`, or the environment.
  ///   - stored: the user defaults. A settings panel writes the same names there.
  ///   - propertyList: a property list file with the names as keys, flat or nested at the dots.
  ///   - registered: the last resort. Do not register these names with `UserDefaults.register`, because registered
  ///     values count as stored.
  /// - Returns: the settings, and the values that were ignored, each with the reason.
  public static func reading(
    explicit: [any ConfigProvider] = [], stored: UserDefaults = .standard, propertyList: URL? = nil,
    registered: CacheSettings = CacheSettings()
  ) -> (settings: CacheSettings, problems: [CacheSettings.Problem]) {
    var problems: [CacheSettings.Problem] = []
    var providers = explicit + [UserDefaultsProvider(stored)]
    if let propertyList {
      do {
        providers.append(try PropertyListProvider(contentsOf: propertyList))
      } catch {
        problems.append(
          CacheSettings.Problem(
            key: "*", place: propertyList.lastPathComponent, reason: "It cannot be read: \(error)"))
      }
    }
    let (settings, others) = reading(from: providers, over: registered)
    return (settings, problems + others)
  }

  package static func reading(
    explicit: [CacheSettings.Key: CacheSettings.Value], stored: UserDefaults, propertyList: URL?,
    registered: CacheSettings
  ) -> (settings: CacheSettings, problems: [CacheSettings.Problem]) {
    reading(
      explicit: [PropertyListProvider("the code", explicit)], stored: stored, propertyList: propertyList,
      registered: registered)
  }

  /// Reads the settings from any providers of swift-configuration, the first of which wins.
  ///
  /// Providers can be the environment, the command line or files.
  public static func reading(
    from providers: [any ConfigProvider], over registered: CacheSettings = CacheSettings()
  ) -> (settings: CacheSettings, problems: [CacheSettings.Problem]) {
    var settings = registered
    var problems: [CacheSettings.Problem] = []
    for key in CacheSettings.Key.allCases {
      for provider in providers {
        do {
          guard let value = try provider.setting(key) else { continue }
          guard let reason = settings.set(key, to: value) else { break }
          problems.append(
            CacheSettings.Problem(key: key.rawValue, place: provider.providerName, reason: reason))
        } catch {
          problems.append(
            CacheSettings.Problem(key: key.rawValue, place: provider.providerName, reason: "\(error)"))
        }
      }
    }
    return (settings, problems)
  }
}

extension ConfigProvider {
  /// Returns a setting as it is stored: as a number if possible, else as a text.
  fileprivate func setting(_ key: CacheSettings.Key) throws -> CacheSettings.Value? {
    let name = AbsoluteConfigKey(key.rawValue.split(separator: ".").map(String.init))
    let isText = key == .memoryOrder || key == .diskOrder
    let found: LookupResult
    do {
      found = try value(forKey: name, type: isText ? .string : .int)
    } catch {
      // The value is a text instead of a number, or a number instead of a text. The setting reports the problem.
      found = try value(forKey: name, type: isText ? .int : .string)
    }
    switch found.value?.content {
    case .int(let number): return .number(number)
    case .string(let text): return .text(text)
    case nil: return nil
    case let other?: return .text("\(other)")
    }
  }
}
