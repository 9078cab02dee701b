/// The rule of a source that turns keys into addresses.
public enum SourceAddress: Sendable, Hashable {
  /// Paths below one address.
  case base(String)
  /// Tiles, by a template.
  case tiles(AddressTemplate)
  /// Any address. Each key is a whole address.
  case anywhere
  /// A custom rule.
  case custom(AddressRule)

  /// Creates a template if the text has a placeholder for a tile, else a base.
  public init(template: String, highResolution: Bool = false) throws(BothyError) {
    let parsed = try AddressTemplate(template, highResolution: highResolution)
    let address = template.replacing("{s}", with: "s")
    guard AbsoluteAddress(address) != nil else {
      throw BothyError(.invalidSource, "\"\(template)\" isn't an address: begin with https:// and a host.")
    }
    self = parsed.namesTile ? .tiles(parsed) : .base(template)
  }

  var needsHosts: Bool {
    switch self {
    case .base(let text): text.contains("{s}")
    case .tiles(let template): template.namesHost
    case .anywhere, .custom: false
    }
  }
}

/// A rule that creates addresses, for schemes that no template can express. Rules with equal names are equal.
public struct AddressRule: Sendable, Hashable {
  /// The name that identifies the rule. A rule that creates other addresses needs another name.
  public let name: String
  /// Returns the address of a key. `host` is one of the source's hosts, or empty if it has none.
  public let address: @Sendable (_ key: ResourceKey, _ host: String) -> String

  /// Creates a rule with a name. `address` is called from any thread, once for each request.
  public init(_ name: String, address: @escaping @Sendable (_ key: ResourceKey, _ host: String) -> String) {
    self.name = name
    self.address = address
  }

  public static func == (left: AddressRule, right: AddressRule) -> Bool { left.name == right.name }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
