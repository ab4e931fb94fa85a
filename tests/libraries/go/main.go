// Driver of the Go lock libraries: takes and frees their locks as it is told on standard input, one command a line, and
// keeps them as their users would. It decides nothing about what is right. The lines that it answers are told in
// tests/libraries.rs.
package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// A lock that is held: what frees it, and its token where the library tells it.
type held struct {
	free  func() error
	token string
}

type driver struct {
	address string
	client  *redis.Client
	lockers map[time.Duration]rueidislock.Locker
	locks   map[string]held
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: driver HOST:PORT")
		os.Exit(2)
	}
	d := driver{
		address: os.Args[1],
		client:  redis.NewClient(&redis.Options{Addr: os.Args[1]}),
		lockers: map[time.Duration]rueidislock.Locker{},
		locks:   map[string]held{},
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) == 1 && words[0] == "quit":
			return
		case len(words) == 4 && words[0] == "acquire":
			fmt.Println(d.acquire(words[1], words[2], words[3]))
		case len(words) == 2 && words[0] == "release":
			fmt.Println(d.release(words[1]))
		default:
			fmt.Println("failed - not a command")
		}
	}
}

func (d *driver) acquire(kind, name, ms string) string {
	number, err := strconv.Atoi(ms)
	if err != nil {
		return failed(name, err)
	}
	if lost, known := d.locks[name]; known {
		// It lapsed. An application that finds out lets go as ever, and the library says that it was too late.
		if err := lost.free(); err != nil {
			fmt.Fprintln(os.Stderr, name, "was lost:", err)
		}
	}
	lock, err := d.take(kind, name, time.Duration(number)*time.Millisecond)
	if err != nil {
		return failed(name, err)
	}
	d.locks[name] = lock
	token := "-"
	if lock.token != "" {
		token = hex.EncodeToString([]byte(lock.token))
	}
	return fmt.Sprintf("held %s %s", name, token)
}

func (d *driver) release(name string) string {
	lock, known := d.locks[name]
	if !known {
		return failed(name, errors.New("it is not held"))
	}
	delete(d.locks, name)
	if err := lock.free(); err != nil {
		return failed(name, err)
	}
	return "released " + name
}

func (d *driver) take(kind, name string, lease time.Duration) (held, error) {
	switch kind {
	case "redsync":
		return d.redsync(name, lease, false)
	case "redsync-extend":
		return d.redsync(name, lease, true)
	case "bsm":
		return d.bsm(name, lease, "", false)
	case "bsm-refresh":
		return d.bsm(name, lease, `{"worker":"driver"}`, true)
	case "rueidislock":
		return d.rueidislock(name, lease)
	}
	return held{}, fmt.Errorf("no such case: %s", kind)
}

func (d *driver) redsync(name string, lease time.Duration, renewed bool) (held, error) {
	mutex := redsync.New(goredis.NewPool(d.client)).NewMutex(name, redsync.WithExpiry(lease), redsync.WithTries(1))
	if err := mutex.Lock(); err != nil {
		return held{}, err
	}
	stop := func() {}
	if renewed {
		stop = every(lease/3, func() error { _, err := mutex.Extend(); return err })
	}
	free := func() error {
		stop()
		freed, err := mutex.Unlock()
		if err == nil && !freed {
			err = errors.New("it was not held any more")
		}
		return err
	}
	return held{free, mutex.Value()}, nil
}

func (d *driver) bsm(name string, lease time.Duration, metadata string, renewed bool) (held, error) {
	ctx := context.Background()
	lock, err := redislock.Obtain(ctx, d.client, name, lease, &redislock.Options{Metadata: metadata})
	if err != nil {
		return held{}, err
	}
	stop := func() {}
	if renewed {
		stop = every(lease/3, func() error { return lock.Refresh(ctx, lease, nil) })
	}
	free := func() error {
		stop()
		return lock.Release(ctx)
	}
	// What is in Redis, and frees the lock, is the token with the metadata.
	return held{free, lock.Token() + lock.Metadata()}, nil
}

// Renews by itself, and tells its token to nobody but the server.
func (d *driver) rueidislock(name string, lease time.Duration) (held, error) {
	locker, known := d.lockers[lease]
	if !known {
		var err error
		locker, err = rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption: rueidis.ClientOption{InitAddress: []string{d.address}},
			KeyValidity:  lease,
		})
		if err != nil {
			return held{}, err
		}
		d.lockers[lease] = locker
	}
	ctx, cancel, err := locker.TryWithContext(context.Background(), name)
	if err != nil {
		return held{}, err
	}
	free := func() error {
		err := ctx.Err()
		cancel()
		return err
	}
	token, err := d.client.Get(ctx, "rueidislock:0:"+name).Result()
	return held{free, token}, err
}

// Renews as an application does for a library that leaves it to it, until it fails or is stopped.
func every(period time.Duration, renew func() error) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				if err := renew(); err != nil {
					fmt.Fprintln(os.Stderr, "not renewed:", err)
					return
				}
			}
		}
	}()
	return func() { close(done); <-ended }
}

func failed(name string, err error) string {
	return fmt.Sprintf("failed %s %s", name, strings.ReplaceAll(err.Error(), "\n", " "))
}
