internal import BothyCache
package import Configuration
package import Foundation

/// A provider of swift-configuration over the objects of a property list, with keys flat or nested at the dots.
package struct PropertyListProvider: PolledProvider, ConfigSnapshot {
  package let providerName: String
  private let values: [String: ConfigContent]

  /// Reads a property list file.
  /// - Throws: the error from reading the file, or `BothyError` `invalidConfiguration` if it isn't a dictionary.
  package init(contentsOf file: URL) throws {
    let list = try PropertyListSerialization.propertyList(from: Data(contentsOf: file), format: nil)
    guard let dictionary = list as? [String: Any] else {
      throw BothyError(.invalidConfiguration, "The property list has no dictionary at its root.")
    }
    self.init(file.lastPathComponent, propertyList: dictionary)
  }

  /// Creates a provider with the numbers, texts and Booleans of a dictionary. Other values are left out.
  package init(_ name: String, propertyList: [String: Any]) {
    providerName = name
    var values: [String: ConfigContent] = [:]
    Self.flatten(propertyList, "", &values)
    self.values = values
  }

  init(_ name: String, _ settings: [CacheSettings.Key: CacheSettings.Value]) {
    providerName = name
    var values: [String: ConfigContent] = [:]
    for (key, value) in settings {
      switch value {
      case .number(let number): values[key.rawValue] = .int(number)
      case .text(let text): values[key.rawValue] = .string(text)
      }
    }
    self.values = values
  }

  package func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
    try LookupResult(key, type) { values[$0] }
  }

  package func snapshot() -> any ConfigSnapshot { self }

  private static func flatten(
    _ list: [String: Any], _ prefix: String, _ values: inout [String: ConfigContent]
  ) {
    for (key, value) in list {
      if let nested = value as? [String: Any] {
        flatten(nested, prefix + key + ".", &values)
      } else if let content = ConfigContent(propertyList: value) {
        values[prefix + key] = content
      }
    }
  }
}

extension LookupResult {
  /// Looks up the value stored under a key, as the requested type.
  ///
  /// Throws `WrongType` if the value can't be converted to that type.
  init(_ key: AbsoluteConfigKey, _ type: ConfigType, in stored: (String) throws -> ConfigContent?) throws {
    let name = key.components.joined(separator: ".")
    let content = try stored(name).map { content in
      guard let converted = content.converted(to: type) else { throw WrongType(name: name, wanted: type) }
      return ConfigValue(converted, isSecret: false)
    }
    self.init(encodedKey: name, value: content)
  }
}

/// The error for a stored value that isn't of the requested type.
struct WrongType: Error, CustomStringConvertible {
  var name: String
  var wanted: ConfigType
  var description: String { "\(name) is no \(wanted.rawValue)." }
}

extension ConfigContent {
  /// Returns `nil` for a value that isn't a number, a text or a Boolean.
  init?(propertyList value: Any) {
    if let text = value as? String {
      self = .string(text)
    } else if let number = value as? NSNumber {
      self = Int(exactly: number).map { .int($0) } ?? .double(number.doubleValue)
    } else {
      return nil
    }
  }

  /// Returns the value as another type, or `nil` if the conversion loses something.
  ///
  /// Texts convert to each type, because launch arguments are always texts.
  func converted(to type: ConfigType) -> ConfigContent? {
    switch (self, type) {
    case (.int, .int), (.string, .string), (.double, .double), (.bool, .bool): self
    case (.string(let text), .int): Int(text).map { .int($0) }
    case (.string(let text), .double): Double(text).map { .double($0) }
    case (.string(let text), .bool):
      ["true", "yes", "1"].contains(text.lowercased())
        ? .bool(true) : ["false", "no", "0"].contains(text.lowercased()) ? .bool(false) : nil
    case (.int(let number), .double): .double(Double(number))
    case (.int(let number), .bool): number == 0 || number == 1 ? .bool(number == 1) : nil
    case (.int(let number), .string): .string(String(number))
    case (.double(let number), .string): .string(String(number))
    default: nil
    }
  }
}
