/// The place of a new response among those stored under one key, and the ones it outdates, as a pure decision.
///
/// All responses under a key depend on the same fields and differ in their values, so that a request has at most one
/// response (RFC 9111 §4.1). A response that depends on other fields replaces all earlier ones.
package struct VariantSlot: Sendable, Hashable {
  package var variant: UInt8
  /// The other variants, which must be removed.
  package var outdated: [UInt8]

  /// The place of the single response of a resource that does not vary.
  package static let only = VariantSlot(variant: 0, outdated: [])

  private init(variant: UInt8, outdated: [UInt8]) {
    self.variant = variant
    self.outdated = outdated
  }

  /// Chooses the place of a new response.
  /// - Parameter stored: the responses under the key, by variant.
  package init(of new: EntryMetadata, among stored: [(variant: UInt8, metadata: EntryMetadata)]) {
    let rest = stored.filter { !Self.outdates(new, $0.metadata) }
    let same = stored.first { !new.variedOn.isEmpty && $0.metadata.variedOn == new.variedOn }
    let taken = Set(rest.map(\.variant))
    let free = (0..<ResourceKey.variantCount).first { !taken.contains($0) }
    let oldest = rest.min { ($0.metadata.validatedAt, $0.variant) < ($1.metadata.validatedAt, $1.variant) }
    let variant = same?.variant ?? free ?? oldest?.variant ?? 0
    self.variant = variant
    outdated = stored.map(\.variant).filter { $0 != variant && !taken.contains($0) }
  }

  /// True if a new response replaces an old one for every request that the old one answers.
  package static func outdates(_ new: EntryMetadata, _ old: EntryMetadata) -> Bool {
    new.variedOn == old.variedOn || new.variedOn.map(\.name) != old.variedOn.map(\.name)
  }
}
