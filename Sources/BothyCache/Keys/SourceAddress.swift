/// The rule of a source that turns keys into addresses, where no template can express it.
///
/// ```swift
/// let address = SourceAddress.custom("photos 1") { key, host in "https://\(host)/photos/\(key.path)?size=large" }
/// let photos = try ResourceSource("photos", address: address, hosts: ["a.example.org"], userAgent: "Hut/1.0")
/// ```
public struct SourceAddress: Sendable, Hashable {
  package enum Form: Sendable, Hashable {
    /// Paths below one address. The key's path follows it after a slash.
    case base(String)
    /// Tiles, by a template. Paths of such a source begin at the server's root.
    case tiles(AddressTemplate)
    case anywhere
    case custom(AddressRule)
  }

  package let form: Form

  /// Any address. Each key is a whole address.
  ///
  /// `ResourceSource.key(url:)` makes the keys. `ResourceCache.data(at:)` has such a source of its own for URLs of no
  /// other source, and uses none that the app has registered: the secrets of a style's source are for one host.
  public static let anywhere = SourceAddress(form: .anywhere)

  /// Returns a rule of the app's own.
  ///
  /// A read whose rule returns no address of http or https throws `BothyError` `.refused`. Secrets are added to the
  /// address as query items.
  ///
  /// - Parameters:
  ///   - name: identifies the rule. Rules with equal names are equal, and a rule that creates other addresses needs
  ///     another name.
  ///   - address: returns the address of a key. `host` is one of the source's hosts, or empty if it has none. It is
  ///     called from any thread, for each of the hosts and several times for a request, so it should be quick.
  public static func custom(
    _ name: String, address: @escaping @Sendable (_ key: ResourceKey, _ host: String) -> String
  ) -> SourceAddress {
    .custom(AddressRule(name, address: address))
  }

  package static func custom(_ rule: AddressRule) -> SourceAddress { SourceAddress(form: .custom(rule)) }

  package init(form: Form) { self.form = form }

  /// Creates a template if the text has a placeholder for a tile, else a base.
  package init(template: String, highResolution: Bool = false) throws(BothyError) {
    let parsed = try AddressTemplate(template, highResolution: highResolution)
    let address = template.replacing("{s}", with: "s")
    guard AbsoluteAddress(address) != nil else {
      throw BothyError(.invalidSource, "\"\(template)\" isn't an address: begin with https:// and a host.")
    }
    form = parsed.namesTile ? .tiles(parsed) : .base(template)
  }

  /// The texts that no other address has, in any process.
  var identity: [String] {
    switch form {
    case .base(let text): ["base", text]
    case .tiles(let template): ["tiles", template.text, template.highResolution ? "@2x" : ""]
    case .anywhere: ["anywhere"]
    case .custom(let rule): ["custom", rule.name]
    }
  }

  var needsHosts: Bool {
    switch form {
    case .base(let text): text.contains("{s}")
    case .tiles(let template): template.namesHost
    case .anywhere, .custom: false
    }
  }
}

/// A rule that creates addresses, for schemes that no template can express. Rules with equal names are equal.
package struct AddressRule: Sendable, Hashable {
  /// The name that identifies the rule. A rule that creates other addresses needs another name.
  package let name: String
  /// Returns the address of a key. `host` is one of the source's hosts, or empty if it has none.
  package let address: @Sendable (_ key: ResourceKey, _ host: String) -> String

  /// Creates a rule with a name. `address` is called from any thread, for each host and several times for a request.
  package init(_ name: String, address: @escaping @Sendable (_ key: ResourceKey, _ host: String) -> String) {
    self.name = name
    self.address = address
  }

  package static func == (left: AddressRule, right: AddressRule) -> Bool { left.name == right.name }
  package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
