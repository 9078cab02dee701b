internal import HTTPTypes
internal import Synchronization

/// The sources of one cache by id. Two different sources never share an id.
package final class SourceRegistry: Sendable {
  private struct State {
    /// The sources by the index of the id.
    var sources: ContiguousArray<RegisteredSource?> = []
  }

  private let state = Mutex(State())

  package init() {}

  /// Adds the source, with the lifetime that the terms of its hosts demand. A known source gets the new rule, limits,
  /// headers and names.
  ///
  /// - Throws: `BothyError.sourceConflict` if a source with different keys has the id.
  package func register(_ source: ResourceSource) throws(BothyError) {
    let source = source.underTerms()
    let new = RegisteredSource(source)
    let isFree = state.withLock { state in
      let index = source.id.index
      while state.sources.count <= index { state.sources.append(nil) }
      if let known = state.sources[index], known.identity != new.identity { return false }
      state.sources[index] = new
      return true
    }
    guard isFree else {
      throw BothyError(
        .sourceConflict,
        "Another source has the id \"\(source.id)\" already. Give this one an id of its own.")
    }
  }

  package subscript(id: SourceID) -> RegisteredSource? {
    state.withLock { $0.sources.indices.contains(id.index) ? $0.sources[id.index] : nil }
  }

  package var all: [ResourceSource] {
    state.withLock { $0.sources.compactMap { $0?.source } }.sorted { $0.id.name < $1.id.name }
  }
}

/// A source as a cache stores it, which is passed without copying.
package final class RegisteredSource: Sendable {
  package let source: ResourceSource
  /// The number of the source. See `ResourceSource.identity`.
  let identity: UInt64
  /// The fields of the source's requests that choose among stored responses: all but its user agent.
  ///
  /// That names the app and its version. With it, an updated app would lose what a server sends with `Vary: User-Agent`.
  let varyingFields: HTTPFields
  /// The number of changes at which the entries under the id were those of this source, plus one, or 0.
  private let checkedAt = Atomic<UInt64>(0)

  init(_ source: ResourceSource) {
    self.source = source
    identity = source.identity
    var fields = source.headers
    fields[.userAgent] = nil
    varyingFields = fields
  }

  /// The identity that stored entries have, or `nil` if the source's resources aren't stored.
  var storedIdentity: UInt64? { source.container?.reader == nil ? identity : nil }

  /// Throws `BothyError.sourceConflict` if a store has entries of another source under the id.
  ///
  /// Another process or an earlier launch may have stored them. Once they are known to be those of this source, nothing
  /// is read until entries are replaced or removed.
  func check(in store: any DiskCache.Store) throws(BothyError) {
    let number = (store.changeCount?.number ?? 0) &+ 1
    guard let own = storedIdentity, checkedAt.load(ordering: .relaxed) != number else { return }
    // A store that can't be read fails the look-up itself. Entries of earlier versions have no identity.
    guard let found = (try? store.identities(source.id))?[source.id], let noted = found else { return }
    guard noted == own else {
      throw BothyError(
        .sourceConflict,
        "The entries under the id \"\(source.id)\" are those of a source with another address, other ignored query "
          + "items or other names of secrets. Give this one an id of its own, or remove them by `removeAll`.")
    }
    checkedAt.store(number, ordering: .relaxed)
  }
}

extension ResourceSource {
  /// A number that is equal in every process if every key means the same resource in both sources.
  ///
  /// It covers the address, the ignored query items and the names of secrets, and no value of a secret.
  package var identity: UInt64 {
    let parts =
      address.identity + ["ignored"] + ignoredQueryItems.sorted() + ["secrets"] + secrets.keys.sorted()
    return parts.joined(separator: "\u{0}").withComposedUTF8 { XXH64.hash(UnsafeRawBufferPointer($0)) }
  }
}
