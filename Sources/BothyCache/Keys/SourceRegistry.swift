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
    let isFree = state.withLock { state in
      let index = source.id.index
      while state.sources.count <= index { state.sources.append(nil) }
      if let known = state.sources[index], !known.source.hasSameKeys(as: source) { return false }
      state.sources[index] = RegisteredSource(source)
      return true
    }
    guard isFree else {
      throw BothyError(
        .sourceConflict,
        "Another source has the id \"\(source.id)\" already. Give this one an id of its own, or remove the other first."
      )
    }
  }

  package subscript(id: SourceID) -> RegisteredSource? {
    state.withLock { $0.sources.indices.contains(id.index) ? $0.sources[id.index] : nil }
  }

  package var all: [ResourceSource] {
    state.withLock { $0.sources.compactMap { $0?.source } }.sorted { $0.id.name < $1.id.name }
  }

  package func remove(_ id: SourceID) {
    state.withLock { state in
      if state.sources.indices.contains(id.index) { state.sources[id.index] = nil }
    }
  }
}

/// A source as a cache stores it, which is passed without copying.
package final class RegisteredSource: Sendable {
  package let source: ResourceSource

  init(_ source: ResourceSource) { self.source = source }
}

extension ResourceSource {
  /// True if every key means the same resource in both sources.
  func hasSameKeys(as other: ResourceSource) -> Bool {
    id == other.id && address == other.address && ignoredQueryItems == other.ignoredQueryItems
      && Set(secrets.keys) == Set(other.secrets.keys)
  }
}
