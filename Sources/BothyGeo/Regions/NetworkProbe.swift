import BothyCache
import Foundation
import HTTPTypes

/// Finds out if equal content of two resources of a region came from a network in place of the server.
///
/// Tiles that show nothing are equal on many maps. But the coarsest tile of a source differs from a finer one, and the
/// style of a region differs from its sprites. A network that answers each request alike answers these alike too.
///
/// Limits: it can't tell for a source of one zoom, and takes a source that repeats one picture even in its coarsest tile
/// for such a network. A source that accepts any content isn't examined, and neither is an archive.
struct NetworkProbe: Sendable {
  let cache: ResourceCache
  /// The style of the region, or `nil` without one.
  let style: ResourceKey?

  /// Returns true if the network answered in place of the server. Costs one request at most, which stores nothing.
  func findsNetwork(_ content: StoredDigest, of key: ResourceKey, and first: ResourceKey) async -> Bool {
    guard let source = cache.source(key.source), source.content != ContentExpectation(),
      !cache.isInContainer(key.source), let other = other(key, first, source)
    else { return false }
    if other == key || other == first { return true }
    do throws(BothyError) {
      let answer = try await cache.send(.get, to: other)
      return AnswerKind(status: answer.status) == .body && StoredDigest(of: answer.body) == content
    } catch {
      // A missing response proves nothing.
      return error.code == .unexpectedContent
    }
  }

  /// Returns true if a tile that the server has sent doesn't exist any longer, as on a network that answers so for every
  /// address. Costs one request, which stores nothing.
  func isGone(_ key: ResourceKey) async -> Bool {
    guard !cache.isInContainer(key.source) else { return false }
    do throws(BothyError) {
      let answer = try await cache.send(.get, to: key)
      return AnswerKind.isNegative(answer.status)
    } catch {
      // A missing response proves nothing.
      return false
    }
  }

  /// Returns a resource that has other content on an honest network, or `nil` if none is known.
  private func other(_ key: ResourceKey, _ first: ResourceKey, _ source: ResourceSource) -> ResourceKey? {
    guard let tile = Tile(key), let earlier = Tile(first) else { return style }
    let finer = tile.zoom < earlier.zoom ? earlier : tile
    let lowest = source.zooms.lowerBound
    guard finer.zoom > lowest, let coarsest = finer.ancestor(atZoom: lowest) else { return nil }
    return coarsest.key(in: key.source)
  }
}
