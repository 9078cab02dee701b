public import BothyCache
public import Configuration
public import Foundation

/// The settings of a cache from the places where an app stores settings.
///
/// A target of its own, so that apps that do without swift-configuration do not build it.
extension CacheSettings {
  /// Reads the settings: an explicit value wins over the user's stored default, that over the property list, that over
  /// the defaults that were registered.
  ///
  /// Reads each place once; later changes of them take effect with the next cache that is opened.
  /// - Parameters:
  ///   - explicit: what the app's code says.
  ///   - stored: user defaults; a settings panel writes the same names there.
  ///   - propertyList: a property list file with the names as keys, flat or nested at the dots.
  ///   - registered: the last resort. Do not register these names with `UserDefaults.register`: what is there counts as
  ///     stored.
  /// - Returns: the settings, and the values that were not taken, each with the reason. Never fails: in place of what is
  ///   wrong, the next place counts.
  public static func reading(
    explicit: [CacheSettingKey: CacheSettingValue] = [:], stored: UserDefaults = .standard,
    propertyList: URL? = nil,
    registered: CacheSettings = CacheSettings()
  ) -> (settings: CacheSettings, problems: [CacheSettingProblem]) {
    var problems: [CacheSettingProblem] = []
    var providers: [any ConfigProvider] = [
      PropertyListProvider("the code", explicit),
      UserDefaultsProvider(stored),
    ]
    if let propertyList {
      do {
        providers.append(try PropertyListProvider(contentsOf: propertyList))
      } catch {
        problems.append(
          CacheSettingProblem(
            key: "*", place: propertyList.lastPathComponent, reason: "It cannot be read: \(error)"))
      }
    }
    let (settings, others) = reading(from: providers, over: registered)
    return (settings, problems + others)
  }

  /// Reads the settings from any providers of swift-configuration, the first of which wins: environment, command line,
  /// files.
  public static func reading(
    from providers: [any ConfigProvider], over registered: CacheSettings = CacheSettings()
  ) -> (settings: CacheSettings, problems: [CacheSettingProblem]) {
    var settings = registered
    var problems: [CacheSettingProblem] = []
    for key in CacheSettingKey.allCases {
      for provider in providers {
        do {
          guard let value = try provider.setting(key) else { continue }
          guard let reason = settings.set(key, to: value) else { break }
          problems.append(
            CacheSettingProblem(key: key.rawValue, place: provider.providerName, reason: reason))
        } catch {
          problems.append(
            CacheSettingProblem(key: key.rawValue, place: provider.providerName, reason: "\(error)"))
        }
      }
    }
    return (settings, problems)
  }
}

extension ConfigProvider {
  /// A setting as it is stored: a number where it can be had, else a text.
  fileprivate func setting(_ key: CacheSettingKey) throws -> CacheSettingValue? {
    let name = AbsoluteConfigKey(key.rawValue.split(separator: ".").map(String.init))
    let isText = key == .memoryOrder || key == .diskOrder
    let found: LookupResult
    do {
      found = try value(forKey: name, type: isText ? .string : .int)
    } catch {
      // A text where a number is wanted, or the other way round: the setting says what is wrong with it.
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
