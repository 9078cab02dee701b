internal import BothyStore
internal import Foundation
internal import GRDB

extension DiskStore {
  package func entry(_ key: ResourceKey) throws -> CacheEntry? {
    if !readsRows { _ = try opened() }
    if case .here(let entry) = try check(key) { return entry }
    return nil
  }

  package func metadata(_ key: ResourceKey) throws -> EntryMetadata? {
    let source = sources.source(key.source)
    if readsRows {
      let place = try reading(isLocked: false) { index in
        try index.look { try RowReader.metadata(key, source, in: &$0) }
      }
      switch place {
      case .here(let metadata): return metadata.ofContent
      case .large(let metadata, let name):
        if FileBytes.size(files.path(name).pathText) == name.size { return metadata.ofContent }
        if case .here(let entry) = try settled(key, source) { return entry.metadata }
        return nil
      case .damaged:
        try discard(key, source)
        return nil
      case .nothing where layout == .pages: return nil
      case .nothing, .inFile, nil: break
      }
    } else {
      _ = try opened()
    }
    let description = try files.describe(files.path(key, source), sources)
    if let description, description.key == key { return description.metadata }
    if readsRows, case .here(let entry) = try settled(key, source) { return entry.metadata }
    return nil
  }

  /// Reads an entry from its row, and a large body from its file.
  private func inRow(_ key: ResourceKey, _ source: KnownSource, isLocked: Bool = false) throws
    -> RowReader.Place<CacheEntry>
  {
    let place = try stored(key, source, isLocked: isLocked)
    guard case .here(let entry) = place, entry.metadata.packing != nil else { return place }
    return entry.unpacked.map { .here($0) } ?? .damaged
  }

  /// Returns an entry with the coding in which its bytes are stored, or `nil` if it is missing or damaged.
  func codedEntry(_ key: ResourceKey) throws -> CacheEntry? {
    let source = sources.source(key.source)
    if layout == .pages, case .here(let entry) = try stored(key, source, isLocked: false) {
      return entry.coded
    }
    return try entry(key)
  }

  /// Reads an entry from its row as it is stored.
  private func stored(_ key: ResourceKey, _ source: KnownSource, isLocked: Bool) throws
    -> RowReader.Place<CacheEntry>
  {
    let place =
      try reading(isLocked: isLocked) { index in
        try index.look { try RowReader.entry(key, source, in: &$0) }
      } ?? .nothing
    guard case .large(let metadata, let name) = place else { return place }
    return try files.body(name).map { .here(CacheEntry(metadata: metadata, body: $0)) } ?? place
  }

  /// Reads an entry from the file of its own, in the layout of files without a look at the index.
  private func inOwnFile(_ key: ResourceKey, _ source: KnownSource) throws -> RowReader.Place<CacheEntry> {
    switch try files.read(key, source) {
    case .entry(let entry): .here(entry)
    case .damaged: .damaged
    case nil: .inFile
    }
  }

  /// Reads an entry and checks it. Removes a damaged one.
  func check(_ key: ResourceKey) throws -> RowReader.Place<CacheEntry> {
    let source = sources.source(key.source)
    var place = RowReader.Place<CacheEntry>.inFile
    if layout == .pages { place = try inRow(key, source) }
    if case .inFile = place { place = try inOwnFile(key, source) }
    if case .inFile = place, layout == .files, readsRows { place = try inRow(key, source) }
    switch place {
    case .damaged: try discard(key, source)
    case .large: return try settled(key, source)
    case .inFile where readsRows: return try settled(key, source)
    case .here, .inFile, .nothing: break
    }
    return place
  }

  /// Reads an entry under the lock after its row named a missing or damaged file.
  ///
  /// In the meantime the file may have received its name, or the row may have the bytes now. If the writer was killed or
  /// the file is damaged, the row is deleted.
  private func settled(_ key: ResourceKey, _ source: KnownSource) throws -> RowReader.Place<CacheEntry> {
    do {
      return try lock.writing {
        let place = try inRow(key, source, isLocked: true)
        if case .large(_, let name) = place {
          // An eviction deletes the file before its commit. If it was killed in between, the file is missing.
          let isThere = FileBytes.size(files.path(name).pathText) != nil
          if isThere { options.onEvent?(.damaged(key)) }
          try delete(key, source)
          return isThere ? .damaged : .nothing
        }
        guard case .inFile = place else { return place }
        if case .entry(let entry) = try files.read(key, source) { return .here(entry) }
        try delete(key, source)
        return .nothing
      }
    } catch let error as BothyError where [.busy, .diskFull].contains(error.code) {
      return .nothing
    }
  }

  /// Deletes the row of an entry whose bytes are in a file. Call it with the lock held.
  private func delete(_ key: ResourceKey, _ source: KnownSource) throws {
    try write { transaction in
      if let row = try transaction.row(source.number(of: key)), row.body?.isFile ?? true {
        try transaction.delete(row)
      }
    }
  }

  /// Reports a damaged entry, and removes it if it is still damaged under the lock.
  private func discard(_ key: ResourceKey, _ source: KnownSource) throws {
    options.onEvent?(.damaged(key))
    do {
      try lock.writing {
        var place = RowReader.Place<CacheEntry>.inFile
        if layout == .pages || readsRows { place = try inRow(key, source, isLocked: true) }
        if case .here = place { return }
        if case .damaged = place {} else { place = try inOwnFile(key, source) }
        guard case .damaged = place else { return }
        try write { transaction in
          if let row = try transaction.row(source.number(of: key)) {
            try transaction.delete(row)
          } else if layout == .files {
            transaction.folders -= Int64(files.remove(files.path(key, source)))
          }
        }
      }
    } catch let error as BothyError where [.busy, .diskFull].contains(error.code) {
      // The entry stays until the next read finds it. No read returns it.
    }
  }
}
