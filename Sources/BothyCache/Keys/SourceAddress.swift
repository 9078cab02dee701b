/// Where the resources of a source are: turns keys into addresses.
public enum SourceAddress: Sendable, Hashable {
  /// Paths below one address.
  case base(String)
  /// Tiles, by a template.
  case tiles(AddressTemplate)
  /// Any address: keys are whole ones.
  case anywhere
  /// A rule of its own.
  case custom(AddressRule)

  /// A template if the text has a place for a tile, else a base.
  public init(template: String, highResolution: Bool = false) throws(CacheError) {
    let parsed = try AddressTemplate(template, highResolution: highResolution)
    let address = template.replacing("{s}", with: "s")
    guard AbsoluteAddress(address) != nil else {
      throw CacheError(.invalidSource, "\"\(template)\" is no address: begin with https:// and a host.")
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

/// A rule that makes addresses, for schemes that no template can say. Two rules are equal when their names are.
public struct AddressRule: Sendable, Hashable {
  /// Says which rule it is: what makes other addresses needs another name.
  public let name: String
  /// The address of a key; `host` is one of the source's hosts, or empty when it has none.
  public let address: @Sendable (_ key: ResourceKey, _ host: String) -> String

  /// A rule under a name; `address` is called from any thread, once for each request.
  public init(_ name: String, address: @escaping @Sendable (_ key: ResourceKey, _ host: String) -> String) {
    self.name = name
    self.address = address
  }

  public static func == (left: AddressRule, right: AddressRule) -> Bool { left.name == right.name }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
